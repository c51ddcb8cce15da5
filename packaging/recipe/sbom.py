"""The bill of materials of a release (CycloneDX 1.5), from the table of sources: what is linked
into the program, from which files, with their SHA-256."""

import json
import re
import uuid

import libraries
import sources
import zig

NAMESPACE = uuid.UUID("5f0cb0c4-4c4b-5b53-9a55-7e3a2b0d6f10")  # of our serial numbers, fixed
POOL = "https://deb.debian.org/debian/pool/main"


def _debian(row):
    """Source package and version, from the name of a file: curl_8.14.1-2+deb13u5.debian.tar.xz."""
    package, rest = row["name"].split("_", 1)
    return package, re.sub(r"\.(orig|debian)\.tar\.\w+$", "", rest)


def _component(library):
    rows = sources.table()[library]
    package, version = _debian(rows[-1])  # Debian's revision, with its patches
    return {
        "type": "library",
        "bom-ref": f"{library}@{version}",
        "name": library,
        "version": sources.version(library),
        "purl": f"pkg:deb/debian/{package}@{version.replace('+', '%2B')}?arch=source",
        "externalReferences": [
            {"type": "source-distribution", "url": f"{POOL}/{row['folder']}/{row['name']}",
             "hashes": [{"alg": "SHA-256", "content": row["sha256"]}]} for row in rows],
    }


def make(version, commit):
    """The text of the document. It has no clock, so that the same release gives the same bytes."""
    used = [library.name for library in libraries.asked_for(libraries.PROGRAM)]
    components = [_component(name) for name in used]
    compiler = zig.pinned().split()[0].split("==")
    program = {"type": "application", "bom-ref": f"shoal@{version}", "name": "shoal",
               "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}],
               "properties": [{"name": "commit", "value": commit}]}
    body = {
        "metadata": {
            "component": program,
            "tools": {"components": [{"type": "application", "name": compiler[0],
                                      "version": compiler[1]}]},
        },
        "components": components,
        "dependencies": [
            {"ref": program["bom-ref"], "dependsOn": [row["bom-ref"] for row in components]}],
    }
    serial = uuid.uuid5(NAMESPACE, json.dumps(body, sort_keys=True))
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5",
                "serialNumber": f"urn:uuid:{serial}", "version": 1, **body}
    return json.dumps(document, indent=2) + "\n"
