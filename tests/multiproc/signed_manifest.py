"""Checkpoints that are whole again after a change: manifest.json signed anew, as docs/formats.md describes it."""

import hashlib
import json


def sign_again(checkpoint, change):
    """`change` gets the manifest without its digest, and changes it in place."""
    file = checkpoint / "manifest.json"
    manifest = json.loads(file.read_text())
    del manifest["sha256"]
    change(manifest)
    text = json.dumps(manifest, indent=2)[:-2] + ',\n  "sha256": "'
    file.write_text(text + hashlib.sha256(text.encode()).hexdigest() + '"\n}\n')


def sign_file_again(checkpoint, name):
    """After a change of the checkpoint's file `name`."""
    content = (checkpoint / name).read_bytes()

    def update(manifest):
        for part in manifest["files"]:
            if part["name"] == name:
                part.update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
                part.pop("tensors", None)

    sign_again(checkpoint, update)
