"""Makes a wheel with the Python package and the program: packaging/wheel.py OUT TARGET PROGRAM MODULE.

MODULE is the compiled `lib_lockgate`. The program goes into the scripts of the wheel, so installers put it beside `python` as it is, and
hooks run it without Python. The same parts give the same bytes. `maturin` builds the package without the program, from source.
"""

import base64
import hashlib
import pathlib
import sys
import tomllib
import zipfile

TOP = pathlib.Path(__file__).resolve().parent.parent
SOURCE = TOP / "bindings/python"

# The oldest system that a wheel for this target is for, and what the module is called there.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ("manylinux_2_35_x86_64", "_lockgate.abi3.so"),
    "aarch64-unknown-linux-gnu": ("manylinux_2_35_aarch64", "_lockgate.abi3.so"),
    "x86_64-apple-darwin": ("macosx_11_0_x86_64", "_lockgate.abi3.so"),
    "aarch64-apple-darwin": ("macosx_11_0_arm64", "_lockgate.abi3.so"),
    "x86_64-pc-windows-msvc": ("win_amd64", "_lockgate.pyd"),
}


def metadata(project: dict, version: str) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        f"Keywords: {','.join(project['keywords'])}",
        *(f"Project-URL: {name}, {address}" for name, address in project["urls"].items()),
    ]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {need}; extra == '{extra}'" for need in needs]
    lines += ["Description-Content-Type: text/markdown", "", (SOURCE / "README.md").read_text()]
    return "\n".join(lines)


def wheel(out: pathlib.Path, target: str, program: pathlib.Path, module: pathlib.Path) -> pathlib.Path:
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    version = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    tag, module_name = PLATFORMS[target]
    info = f"lockgate-{version}.dist-info"
    script = "lockgate.exe" if "windows" in target else "lockgate"
    sources = sorted(path for path in (SOURCE / "python").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = [(str(path.relative_to(SOURCE / "python")), path.read_bytes(), False) for path in sources]
    files += [
        (f"lockgate/{module_name}", module.read_bytes(), True),
        (f"lockgate-{version}.data/scripts/{script}", program.read_bytes(), True),
        (f"{info}/METADATA", metadata(project, version).encode(), False),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: lockgate\nRoot-Is-Purelib: false\nTag: cp310-abi3-{tag}\n".encode(), False),
        *((f"{info}/licenses/{name}", (TOP / name).read_bytes(), False) for name in ["LICENSE-APACHE", "LICENSE-MIT"]),
    ]
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data, _ in files)
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), False))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"lockgate-{version}-cp310-abi3-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, is_program in files:
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            archive.writestr(entry, data)
    return path


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    if len(sys.argv) != 5 or sys.argv[2] not in PLATFORMS:
        sys.exit(f"usage: wheel.py OUT TARGET PROGRAM MODULE; TARGET is one of {', '.join(PLATFORMS)}")
    out, target, program, module = sys.argv[1:]
    print(wheel(pathlib.Path(out), target, pathlib.Path(program), pathlib.Path(module)))


main()
