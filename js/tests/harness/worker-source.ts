/** Stands for the bundled worker in tests, whose Worker is a fake that runs no code. */
export default "// the worker";
