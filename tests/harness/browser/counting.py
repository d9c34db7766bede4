"""What a page holds on to, counted by scripts that run in it before anything else (`watching.inject`)."""

# Listeners that the widget's code (which anywidget loads from a Blob) has on what outlives the widget: the window, the
# document, media queries, workers. Those on elements that left the page go with them.
COUNT_LISTENERS = """
(() => {
    const there = new Map();
    const add = EventTarget.prototype.addEventListener, remove = EventTarget.prototype.removeEventListener;
    const key = (type, listener, options) => `${type} ${typeof options === "object" ? !!options?.capture : !!options}`;
    EventTarget.prototype.addEventListener = function (type, listener, options) {
        const ours = /blob:|widget[.]js/.test(new Error().stack) && !(this instanceof AbortSignal);
        if (ours && listener && !options?.once) {
            const entry = [this ?? window, key(type, listener, options), listener];
            there.set(entry, new Error().stack);
            options?.signal?.addEventListener?.call(options.signal, "abort", () => there.delete(entry));
        }
        return add.call(this ?? window, type, listener, options);
    };
    EventTarget.prototype.removeEventListener = function (type, listener, options) {
        const wanted = [this ?? window, key(type, listener, options), listener];
        for (const entry of there.keys()) if (entry.every((part, k) => part === wanted[k])) there.delete(entry);
        return remove.call(this ?? window, type, listener, options);
    };
    const left = ([target]) => !(target instanceof Node) || target === document || target.isConnected;
    window.dshqListeners = () => [...there.keys()].filter(left).length;
    window.dshqListening = () =>
        [...there].filter(([entry]) => left(entry)).map(([[target, what], stack]) => `${target} ${what} ${stack}`);
})();
"""

# Gives a worker that starts from a Blob a list of its devices so far and sets of the devices, buffers, textures it has.
COUNT_DEVICES = """
(() => {
    const prelude = `
        self.devices = []; self.living = new Set(); self.buffers = new Set(); self.textures = new Set();
        const ask = GPUAdapter.prototype.requestDevice;
        GPUAdapter.prototype.requestDevice = async function (...given) {
            const device = await ask.apply(this, given);
            self.devices.push(device);
            self.living.add(device);
            device.lost.then(() => self.living.delete(device));
            return device;
        };
        const kinds = [[GPUBuffer, "createBuffer", self.buffers], [GPUTexture, "createTexture", self.textures]];
        for (const [kind, make, set] of kinds) {
            const create = GPUDevice.prototype[make], destroy = kind.prototype.destroy;
            GPUDevice.prototype[make] = function (...given) {
                const made = create.apply(this, given);
                set.add(made);
                return made;
            };
            kind.prototype.destroy = function () {
                set.delete(this);
                return destroy.call(this);
            };
        }
    `;
    const Plain = window.Blob;
    window.Blob = class extends Plain {
        constructor(parts, options) {
            const script = /javascript/.test(options?.type ?? "") && /WorkerGlobalScope/.test(parts?.[0] ?? "");
            super(script && !/initialize/.test(parts[0].slice(-2000)) ? [prelude, ...parts] : parts, options);
        }
    };
})();
"""
