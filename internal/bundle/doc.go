// Package bundle owns the files that the binary carries and the cache on disk that they are extracted to:
// CPython, IPython with what it needs, and small file trees of other packages.
//
// # The cache
//
// A tree lives in <cache>/<name>-<key>/, the key being a hash of its content: trees are never changed,
// only added. A tree is there completely or not at all. It is extracted beside its place (….tmp-<random>)
// under a lock (….lock) and then renamed, so a reader needs no lock, and of processes that start at once
// one extracts and the others wait. Each start looks whether every file is there with its size; a damaged
// tree is extracted again and swapped, the old one going by way of ….old-<random>. What a killed process
// leaves is removed by the next start; lock files exist only while something is locked.
//
// The one thing added to a finished tree is byte code for further interpreters (Precompile).
//
// # Callers
//
// Everything may be called from any goroutine, and from any number of processes on one cache. Calls that
// wait take a context. The package never runs Python in this process and never writes outside the cache
// directory.
package bundle
