package server

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ipython-mcp/shell"
)

// displayed adds what was displayed.
func (p *page) displayed(displays []shell.DisplayData) {
	for _, display := range displays {
		var bundle map[string]json.RawMessage
		if json.Unmarshal(display.Data, &bundle) != nil {
			continue
		}
		text := renderResult(bundle["text/plain"])
		if text != "" && !strings.HasPrefix(text, wrapperText) {
			p.add(text)
			p.payloads(bundle, isVisual)
		} else if !p.payloads(bundle, isReadable) {
			p.add(cmp.Or(text, pageText(renderResult(bundle["text/html"]))))
		}
	}
}

// payloads adds the wanted ones of a bundle, and reports whether there were any.
func (p *page) payloads(bundle map[string]json.RawMessage, wanted func(mime string) bool) (some bool) {
	for _, mime := range slices.Sorted(maps.Keys(bundle)) {
		if wanted(mime) {
			p.add(renderResult(bundle[mime]))
			some = true
		}
	}
	return some
}

// browserCode is what of a page only a browser reads, to its end or to where it was cut off.
var browserCode = regexp.MustCompile(`(?is)<(?:script|style)\b.*?(?:</(?:script|style)\s*>|\z)`)

// pageText is HTML without what nobody reads.
func pageText(html string) string {
	left := browserCode.ReplaceAllString(html, "")
	if html != "" && strings.TrimSpace(left) == "" {
		return "<text/html, only code for a browser>"
	}
	return left
}

// wrapperText is how the text of IPython's own display objects begins, which says nothing of what they hold.
const wrapperText = "<IPython.core.display."

// isVisual says whether a payload of the type is there to be looked at or listened to: the bundle then holds a placeholder, or SVG.
func isVisual(mime string) bool {
	switch {
	case strings.HasPrefix(mime, "image/"):
		return true
	case mime == "application/json", mime == "application/javascript":
		return false
	}
	return !strings.HasPrefix(mime, "text/") && !strings.HasSuffix(mime, "+json") && !strings.HasSuffix(mime, "+xml")
}

// isReadable says whether a payload tells a reader what was displayed: everything but code for a browser.
func isReadable(mime string) bool {
	return mime != "text/plain" && mime != "text/html" && mime != "application/javascript"
}
