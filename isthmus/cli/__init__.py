"""The command line: `isthmus info | simulate | check`, one file each; heavy libraries load inside the commands."""
