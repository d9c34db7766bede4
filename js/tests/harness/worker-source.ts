/** Stands for the bundled worker in tests, whose Worker is a fake that runs no code: gzip in base64 of nothing but a comment. */
export default "H4sIAAAAAAAAA9PXVyjJSFUozy/KTi0CAMCcnBYNAAAA";
