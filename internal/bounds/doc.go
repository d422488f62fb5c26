// Package bounds owns every limit of the product and every cut that keeps to one.
//
// [Limits] is the single source of the numbers. [Cut] shortens a text at its end, [CutMiddle] in its middle. [Stream]
// collects output of any size in bounded memory with both ends kept, as a reader of a terminal would see it; [Spool]
// keeps the whole of it, on disk where it is large. [CanonicalJSON] is the form that fingerprints are made of.
//
// A character is a Unicode code point everywhere, and takes one column. A byte that is not UTF-8, and in a Stream an
// ESC or C1 control (U+0080 to U+009F) that belongs to no control sequence, becomes visible as \xNN, four characters.
// A Stream also drops BEL, SO and SI, and passes every other control character that does not move the cursor as it is.
//
// Functions are pure. Stream and Spool lock internally: any goroutine may use them, also during writes. A Stream calls
// its spool while it holds its own lock; a Spool calls nobody. Nothing here starts a goroutine or waits for anything
// but the disk, and nothing here knows Python, MCP or file descriptors.
package bounds
