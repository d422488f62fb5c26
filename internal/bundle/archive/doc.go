// Package archive owns the format of the file trees that the binary carries: a manifest that says what
// belongs to a tree, and a zstd-compressed tar that holds it.
//
// A packed tree is two zstd frames that together are one tar stream (`tar --zstd -t` lists it). The first
// frame holds the manifest alone, so reading it costs no decompression of the rest. The manifest's hash
// identifies a tree: it covers every name, kind, size and content.
//
// Everything here may be called from any goroutine. The package creates files below the directory it is
// given and nowhere else; it never locks, never renames and never decides where a tree lives. That is
// package bundle's part.
package archive
