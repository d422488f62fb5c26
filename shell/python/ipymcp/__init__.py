"""The Python half of the server: one live IPython namespace, driven over a socket.

`boot.main` is the only entry. Everything here runs on CPython's main thread unless a module says otherwise, and
nothing here runs at import: all state hangs on the objects that `boot.main` makes. The process that embeds CPython
owns the descriptors, the protocol and the bounds of the streams; this package owns what needs the live objects.
"""
