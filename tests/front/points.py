"""A failpoint for a whole cluster: all processes read one file, and the first one that reaches the
point in that file dies. Used on the front and on the bed; the names are in docs/dev/front.md.
"""

import pathlib
import re

# After a kill here, a runner cannot know whether its step was done, so it runs it again.
RUNNER_IN_DOUBT = re.compile(r"node-serve:(child:bash|file:\*|event:(began|said|done)|"
                             r"file:(step\.sh|group|runner))|node-(env|ray|probe|gate|start|idle)")


class Points:
    """`folder` exists on laptops and machines, on machines perhaps under another name."""

    def __init__(self, folder, on_machines=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o777)
        self.wanted = self.folder / "wanted"
        self.env = {"SHOAL_FAILPOINT_FILE": str(self.wanted)}
        self.machine_env = {"SHOAL_FAILPOINT_FILE": f"{on_machines or self.folder}/wanted"}

    def arm(self, point):
        """`point`: NAME or NAME#N, the N-th time that one process reaches it."""
        (self.folder / "new").write_text(point, encoding="ascii")
        (self.folder / "new").chmod(0o666)
        (self.folder / "new").rename(self.wanted)

    def is_armed(self):
        """Disarm the point. False: a process has died there."""
        return self.wanted.exists()

    def disarm(self):
        """True: a process has died there."""
        try:
            self.wanted.unlink()
            return False
        except FileNotFoundError:
            return True
