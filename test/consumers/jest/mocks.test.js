const entries = ['virtual-accounts', 'virtual-accounts/testing', 'virtual-accounts/probe']

jest.mock('virtual-accounts')
jest.mock('virtual-accounts/testing')
jest.mock('virtual-accounts/probe')

test.each(entries)('jest.mock replaces every function of %s', entry => {
  const mocked = require(entry)
  const actual = jest.requireActual(entry)
  expect(actual.__esModule).toBe(true)
  for (const name of Object.keys(actual)) expect(jest.isMockFunction(mocked[name])).toBe(true)
})

test.each(entries)('jest.spyOn works on every function of %s', entry => {
  const actual = jest.requireActual(entry)
  for (const name of Object.keys(actual)) {
    const spy = jest.spyOn(actual, name).mockReturnValue('mocked')
    expect(actual[name]()).toBe('mocked')
    spy.mockRestore()
  }
})
