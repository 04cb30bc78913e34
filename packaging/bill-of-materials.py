"""Writes a CycloneDX 1.5 list of libraries from the lines of `cargo tree --prefix none --format '{p}|{l}'` on stdin."""

import json
import os
import re
import sys
import uuid

LINE = re.compile(r"(?P<name>\S+) v(?P<version>\S+)(?P<place> \(.*?\))?(?: \(\*\))?\|(?P<licence>.*)")


def component(name: str, version: str, licence: str) -> dict:
    address = f"pkg:cargo/{name}@{version}"
    found = {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
    if licence:
        # Cargo still takes the older form with a slash.
        found["licenses"] = [{"expression": licence.replace("/", " OR ") if " " not in licence else licence}]
    return found


def main() -> None:
    version = os.environ["VERSION"]
    found = {}
    for line in sys.stdin:
        match = LINE.fullmatch(line.strip())
        if match is None:
            continue
        # What is in a folder is ours, and is the program itself.
        is_ours = match["place"] is not None and match["place"].startswith(" (/")
        if not is_ours:
            found[match["name"], match["version"]] = component(match["name"], match["version"], match["licence"])
    if not found:
        sys.exit("error: cargo listed no library")
    components = [found[key] for key in sorted(found)]
    names = "\n".join(component["bom-ref"] for component in components)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"lockgate@{version}\n{names}")
    json.dump(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{serial}",
            "version": 1,
            "metadata": {
                "component": {"type": "application", "name": "lockgate", "version": version, "licenses": [{"expression": "MIT OR Apache-2.0"}]}
            },
            "components": components,
        },
        sys.stdout,
        indent=1,
    )
    sys.stdout.write("\n")


main()
