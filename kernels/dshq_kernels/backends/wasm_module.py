"""An LLVM object file for wasm32 as a WebAssembly module that can be instantiated: no linker is needed.

Such an object is nearly a module: its indices of types, functions and globals are right where nothing is linked to it.
What is missing are the exports, and addresses of its data, which begin at 0. Sections and relocations:
https://webassembly.github.io/spec/core/binary and WebAssembly/tool-conventions, Linking.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

HEADER = b"\0asm\1\0\0\0"
CUSTOM, IMPORT, FUNCTION, EXPORT, ELEMENT, DATA = 0, 2, 3, 7, 9, 11
IMPORT_FUNCTION, IMPORT_TABLE, IMPORT_MEMORY, IMPORT_GLOBAL = range(4)
SYMBOL_TABLE = 8
SYMBOL_FUNCTION, SYMBOL_DATA, SYMBOL_SECTION = 0, 1, 3
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40
RIGHT_ALREADY = {0: "function index", 6: "type index", 7: "global index", 20: "table number"}
ADDRESS_LEB, ADDRESS_SLEB, ADDRESS_I32 = 3, 4, 5
"""Relocations: the two kinds of five bytes, and four bytes in data; the symbol and its addend follow."""
HOST = ("cos", "exp", "log", "pow")
"""Functions of C that the host's own mathematics has, too."""
RENAMED = {"__linear_memory": "memory"}
"""Imports of an object file, and what a linker calls them in a module."""


class Reader:
    """The bytes of a section, read one after the other."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, signed: bool = False) -> int:
        """A LEB128."""
        value = shift = 0
        while True:
            part = self.byte()
            value |= (part & 127) << shift
            shift += 7
            if part < 128:
                return value - (1 << shift) if signed and part & 64 else value

    def text(self) -> str:
        return self.take(self.number()).decode()


def unsigned(value: int, width: int = 0) -> bytes:
    """LEB128, padded to `width` bytes."""
    found = bytearray()
    while True:
        value, part = value >> 7, value & 127
        more = value or len(found) + 1 < width
        found.append(part | (128 if more else 0))
        if not more:
            return bytes(found)


def signed(value: int, width: int = 0) -> bytes:
    """Signed LEB128, padded to `width` bytes."""
    found = bytearray()
    while True:
        part = value & 127
        value >>= 7
        more = value != (-1 if part & 64 else 0) or len(found) + 1 < width
        found.append(part | (128 if more else 0))
        if not more:
            return bytes(found)


def _text(value: str) -> bytes:
    return unsigned(len(value.encode())) + value.encode()


def linked(code: bytes, exports: Sequence[str], data_at: int) -> bytes:
    """The module of an object file. It exports the functions `exports`; its data lies at address `data_at`; it imports
    `env.memory` and, where it needs them, `env.__stack_pointer`, `env.__indirect_function_table` and those of `HOST`.

    Raises RuntimeError if the code calls a function that it does not contain, takes a function's address, or lacks one
    of `exports`.
    """
    sections = list(_sections(code))
    functions: dict[str, int] = {}
    changes: dict[int, list[tuple[int, bytes]]] = {}
    imports = next((body for kind, _, body in sections if kind == IMPORT), b"\0")
    new_imports, missing = _imports(imports)
    if missing:
        raise RuntimeError(f"the compiled code calls {', '.join(missing)}, which WebAssembly does not have")
    for kind, name, body in sections:
        if kind == ELEMENT:
            raise RuntimeError("the compiled code takes the address of a function: only its caller may do that")
        if name == "linking":
            functions = _functions(body)
        elif name.startswith("reloc."):
            section, found = _relocations(body, sections, data_at)
            changes[section] = found
    lacking = [name for name in exports if name not in functions]
    if lacking:
        raise RuntimeError(f"the compiled code lacks {', '.join(lacking)}")
    table = b"".join(_text(name) + b"\0" + unsigned(functions[name]) for name in exports)
    export_section = unsigned(len(exports)) + table
    parts = [HEADER]
    exported = False
    for number, (kind, _, body) in enumerate(sections):
        if kind == CUSTOM:
            continue
        if kind > EXPORT and not exported:
            parts += [bytes([EXPORT]), unsigned(len(export_section)), export_section]
            exported = True
        content = bytearray(new_imports if kind == IMPORT else body)
        for at, value in changes.get(number, []):
            content[at : at + len(value)] = value
        final = _moved(bytes(content), data_at) if kind == DATA else bytes(content)
        parts += [bytes([kind]), unsigned(len(final)), final]
    return b"".join(parts)


def _sections(code: bytes) -> Iterator[tuple[int, str, bytes]]:
    """(kind, name of a custom section, content) of every section, in order."""
    reader = Reader(code)
    if reader.take(8) != HEADER:
        raise RuntimeError("LLVM made no WebAssembly object file")
    while reader:
        kind = reader.byte()
        body = reader.take(reader.number())
        if kind == CUSTOM:
            inner = Reader(body)
            name = inner.text()
            yield kind, name, body[inner.at :]
        else:
            yield kind, "", body


def _imports(body: bytes) -> tuple[bytes, list[str]]:
    """The import section under a module's names, and the functions that it asks for in vain."""
    reader, parts, missing = Reader(body), [], []
    count = reader.number()
    for _ in range(count):
        room, name = reader.text(), reader.text()
        begin = reader.at
        kind = reader.byte()
        if kind == IMPORT_FUNCTION:
            missing += [] if name in HOST else [name]
            reader.number()
        elif kind == IMPORT_GLOBAL:
            reader.take(2)
        else:
            if kind == IMPORT_TABLE:
                reader.byte()
            limits = reader.byte()
            reader.number()
            if limits & 1:
                reader.number()
        parts.append(_text(room) + _text(RENAMED.get(name, name)) + reader.data[begin : reader.at])
    return unsigned(count) + b"".join(parts), missing


def _functions(body: bytes) -> dict[str, int]:
    """Index of every function that the object defines, by its name, from the section `linking`."""
    reader = Reader(body)
    reader.number()  # the version of the metadata
    found: dict[str, int] = {}
    while reader:
        kind = reader.byte()
        content = Reader(reader.take(reader.number()))
        if kind != SYMBOL_TABLE:
            continue
        for _ in range(content.number()):
            symbol, flags = content.byte(), content.number()
            if symbol == SYMBOL_DATA:
                content.text()
                if not flags & UNDEFINED:
                    for _ in range(3):
                        content.number()
            elif symbol == SYMBOL_SECTION:
                content.number()
            else:
                index = content.number()
                name = content.text() if not flags & UNDEFINED or flags & EXPLICIT_NAME else ""
                if symbol == SYMBOL_FUNCTION and not flags & UNDEFINED:
                    found[name] = index
    return found


def _relocations(
    body: bytes, sections: list[tuple[int, str, bytes]], data_at: int
) -> tuple[int, list[tuple[int, bytes]]]:
    """The number of the section that is changed, and (offset, new bytes) for every address of data in it."""
    reader = Reader(body)
    section = reader.number()
    content = Reader(sections[section][2])
    found = []
    for _ in range(reader.number()):
        kind, at = reader.byte(), reader.number()
        reader.number()  # the symbol: its provisional value already stands in the code
        content.at = at
        if kind in RIGHT_ALREADY:
            continue
        reader.number(signed=True)  # the addend, part of that value
        if kind == ADDRESS_LEB:
            found.append((at, unsigned(content.number() + data_at, 5)))
        elif kind == ADDRESS_SLEB:
            found.append((at, signed(content.number(signed=True) + data_at, 5)))
        elif kind == ADDRESS_I32:
            found.append((at, (int.from_bytes(content.take(4), "little") + data_at).to_bytes(4, "little")))
        else:
            raise RuntimeError(f"the compiled code has a relocation of kind {kind}, which is not known here")
    return section, found


def _moved(body: bytes, data_at: int) -> bytes:
    """The data section with every segment `data_at` further on."""
    reader, parts = Reader(body), []
    count = reader.number()
    for _ in range(count):
        kind, constant, offset, end = reader.byte(), reader.byte(), reader.number(signed=True), reader.byte()
        if (kind, constant, end) != (0, 0x41, 0x0B):
            raise RuntimeError("the compiled code has data whose address is not a number")
        size = reader.number()
        parts.append(b"\0\x41" + signed(offset + data_at) + b"\x0b" + unsigned(size) + reader.take(size))
    return unsigned(count) + b"".join(parts)
