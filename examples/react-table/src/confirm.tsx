import { type ReactNode, useEffect, useRef } from 'react'

interface ConfirmProps {
  readonly title: ReactNode
  readonly children: ReactNode
  readonly action: string
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Asks for confirmation. Enter and Escape cancel. */
export function Confirm({ title, children, action, onConfirm, onClose }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const close = () => dialog.current?.close()
  return (
    <dialog className="card padded" ref={dialog} aria-labelledby="confirm-title" onClose={onClose}>
      <h2 id="confirm-title">{title}</h2>
      {children}
      <div className="actions">
        {/* A dialog focuses its first button. */}
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button
          type="button"
          className="danger"
          onClick={() => {
            close()
            onConfirm()
          }}
        >
          {action}
        </button>
      </div>
    </dialog>
  )
}
