"""Lays out what goes to npm: packaging/npm.py OUT TARGET PROGRAM [ADDON].

`lockgate` is the library in JavaScript with a `bin`; it names a package for each platform, of which npm installs the one that fits.
That one has the program, and the native module where ADDON is given. A release runs this once for each target into one folder and
publishes all packages in it, `lockgate` last.
"""

import json
import pathlib
import shutil
import sys

# What npm calls the platforms of our targets. The program is static and runs on every Linux; the native module needs the C library of GNU.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ("linux", "x64"),
    "aarch64-unknown-linux-gnu": ("linux", "arm64"),
    "x86_64-apple-darwin": ("darwin", "x64"),
    "aarch64-apple-darwin": ("darwin", "arm64"),
    "x86_64-pc-windows-msvc": ("win32", "x64"),
}

TOP = pathlib.Path(__file__).resolve().parent.parent
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]


def name_of(target: str) -> str:
    system, processor = PLATFORMS[target]
    return f"@lockgate/{system}-{processor}"


def library(out: pathlib.Path) -> dict:
    source = TOP / "bindings/node"
    package = json.loads((source / "package.json").read_text())
    package["files"] = [file for file in package["files"] if file != "lockgate.node"]
    package["optionalDependencies"] = {name_of(target): package["version"] for target in PLATFORMS}
    folder = out / "lockgate"
    shutil.rmtree(folder, ignore_errors=True)
    for part in ["lib", "types"]:
        shutil.copytree(source / part, folder / part)
    for file in [source / "README.md", *(TOP / licence for licence in LICENCES)]:
        shutil.copy(file, folder)
    write(folder, package)
    return package


def platform(out: pathlib.Path, target: str, program: pathlib.Path, addon: pathlib.Path | None, of: dict) -> None:
    system, processor = PLATFORMS[target]
    folder = out / name_of(target).replace("@lockgate/", "")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = {program: "lockgate.exe" if system == "win32" else "lockgate"}
    if addon is not None:
        files[addon] = "lockgate.node"
    for source, name in files.items():
        shutil.copy(source, folder / name)
        (folder / name).chmod(0o755)
    for licence in LICENCES:
        shutil.copy(TOP / licence, folder)
    shared = {key: of[key] for key in ["version", "license", "repository", "engines"]}
    package = {
        "name": name_of(target),
        "description": f"Lockgate for {system} on {processor}; install `lockgate`",
        **shared,
        "os": [system],
        "cpu": [processor],
        "files": list(files.values()) + LICENCES,
        "preferUnplugged": True,
    }
    write(folder, package)


def write(folder: pathlib.Path, package: dict) -> None:
    (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n")


def main() -> None:
    if len(sys.argv) not in (4, 5) or sys.argv[2] not in PLATFORMS:
        sys.exit(f"usage: npm.py OUT TARGET PROGRAM [ADDON]; TARGET is one of {', '.join(PLATFORMS)}")
    out, target, program, *addon = sys.argv[1:]
    folder = pathlib.Path(out)
    package = library(folder)
    platform(folder, target, pathlib.Path(program), pathlib.Path(addon[0]) if addon else None, package)


main()
