# What .ci/run and .ci/examples share. They source it from the root folder of the repository.
export CI=true npm_config_loglevel=error npm_config_update_notifier=false NO_COLOR=1 FORCE_COLOR=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=()

# Runs a command, and says how it ended and what it printed when it failed. The next check is run in either case.
check() {
  local name=$1 began=$SECONDS
  shift
  if "$@" >"$logs/log" 2>&1; then
    echo "✓ $name ($((SECONDS - began)) s)"
  else
    failed+=("$name")
    echo "✗ $name ($((SECONDS - began)) s)"
    tail -n 120 "$logs/log" | sed 's/^/    /'
  fi
}

# Runs a command after npm ci in a folder. What was not installed there before is removed: disks of CI are small.
with() {
  local folder=$1 status was_there=
  shift
  [ ! -e "$folder/node_modules" ] || was_there=1
  in_folder "$folder" npm ci && "$@"
  status=$?
  [ -n "$was_there" ] || rm -rf "$folder/node_modules"
  return $status
}

# Not npm --prefix, which ignores the machine's own npmrc, where a company has its proxy.
in_folder() { (cd "$1" && shift && "$@"); }

# Whether what Debian has to give is here already. No function is named like a program: it would find itself.
# Chromium: its own downloads are not to be had everywhere. Redis: the queue of docs/scaling.md needs a real one.
# libatomic1: Node 26 does not start without it, and the smallest systems lack it.
has_chromium() { "${CHROMIUM:-/usr/bin/chromium}" --version; }
has_redis() { type -P redis-server; }
has_libatomic() { tools/nodes/node_modules/node-26-*/bin/node --version; }

from_debian() {
  local package=$1 is_there=$2
  "$is_there" && return
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package"
  "$is_there"
}
