"""A page that draws few frames: most tests wait for something else, and a wait then costs next to nothing."""

# The show draws from a worker that starts from a Blob. Time passes as it would: a frame advances by what it took.
FRAME_MS = 75
CALM = """
(() => {
    const prelude = `
        const draw = self.requestAnimationFrame?.bind(self);
        if (draw) self.requestAnimationFrame = (call) => setTimeout(() => draw(call), FRAME_MS);
    `;
    const Plain = window.Blob;
    window.Blob = class extends Plain {
        constructor(parts, options) {
            const text = /javascript/.test(options?.type ?? "") ? String(parts?.at(-1) ?? "") : "";
            const show = /WorkerGlobalScope/.test(text) && !/initialize/.test(text.slice(-2000));
            super(show ? [prelude, ...parts] : parts, options);
        }
    };
})();
""".replace("FRAME_MS", str(FRAME_MS))
