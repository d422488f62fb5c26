// Package pictures makes images fit for a model: it takes the file of a PNG, JPEG, GIF or WebP image, of any size and possibly hostile, and
// returns bytes that every client accepts.
//
// An image that fits already keeps its bytes once they have been decoded as a proof; a larger one is scaled down, and encoded as PNG or, where
// that is too large, as JPEG on white. A GIF becomes a PNG of its first frame, because model services refuse animations.
//
// Images are decoded one at a time. A Budget bounds what those of one answer take, which bounds the time they take as well; a context that
// ends stops the work.
package pictures
