// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fetch

import (
	"bytes"
	"encoding/json"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

const (
	// maxPrettyBytes bounds what JSON can grow to by being laid out.
	maxPrettyBytes = 32 << 20
	jsonIndent     = "  "

	mediaHTML = "text/html"
)

// mediaOf is the media type of an answer, without its parameters and in lower case.
func mediaOf(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil { // The parameters may be odd, and the type clear.
		media, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(media))
}

func isHTML(media string) bool { return media == mediaHTML || media == "application/xhtml+xml" }

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// textMedia are types of text without "text" in their name.
var textMedia = []string{
	"application/javascript", "application/ecmascript", "application/graphql", "application/sql", "application/toml", "application/x-httpd-php",
	"application/x-javascript", "application/x-ndjson", "application/x-sh", "application/x-www-form-urlencoded", "application/x-yaml",
	"application/xml", "application/yaml",
}

func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || isJSON(media) || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml") ||
		slices.Contains(textMedia, media)
}

// decodeText converts a body to UTF-8, and reports whether it is text at all. A body with a text media type has the charset that it names,
// or else the one that browsers would guess. Any other body is text only if it is UTF-8 already.
func decodeText(body []byte, contentType string) (string, bool) {
	if !isText(mediaOf(contentType)) {
		if !utf8.Valid(body) {
			return "", false
		}
	} else if encoding := encodingOf(body, contentType); encoding != nil {
		if decoded, err := encoding.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	if bytes.IndexByte(body, 0) >= 0 {
		return "", false
	}
	return strings.TrimPrefix(string(body), "\uFEFF"), true
}

// encodingOf is the encoding of a text, nil if it stays as it is.
func encodingOf(body []byte, contentType string) encoding.Encoding {
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil {
		if named, _ := charset.Lookup(parameters["charset"]); named != nil {
			return named
		}
	}
	if utf8.Valid(body) {
		return nil
	}
	guessed, _, _ := charset.DetermineEncoding(body[:min(len(body), 1024)], "")
	return guessed
}

// PrettyJSON splits JSON into indented lines. A text that is not JSON, or would grow too large, stays as it is.
func PrettyJSON(text string) string {
	if growth(text) > maxPrettyBytes {
		return text
	}
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", jsonIndent); err != nil {
		return text
	}
	return out.String()
}

// growth is at least the length of a JSON text that is laid out: each value may begin a line of its own.
func growth(text string) int {
	depth, size, quoted := 0, len(text), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			size += 1 + depth*len(jsonIndent)
		case c == ']' || c == '}':
			depth = max(0, depth-1)
			size += 1 + depth*len(jsonIndent)
		case c == ',' || c == ':':
			size += 1 + depth*len(jsonIndent)
		}
		if size > maxPrettyBytes {
			break
		}
	}
	return size
}

// extensions are by media type. The tables of operating systems differ.
var extensions = map[string]string{
	mediaHTML: ".html", "application/xhtml+xml": ".html", "text/css": ".css", "text/csv": ".csv", "text/javascript": ".js",
	"application/javascript": ".js", "text/markdown": ".md", "text/xml": ".xml", "application/xml": ".xml", "application/yaml": ".yaml",
	"application/x-ndjson": ".jsonl", "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"image/svg+xml": ".svg", "application/pdf": ".pdf", "application/zip": ".zip", "application/gzip": ".gz", "application/x-gzip": ".gz",
	"application/x-tar": ".tar", "application/wasm": ".wasm", "audio/mpeg": ".mp3", "video/mp4": ".mp4",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       ".xlsx",
}

// extensionOf ends the name of the file for a body.
func extensionOf(media string, text bool) string {
	switch known, ok := extensions[media]; {
	case ok:
		return known
	case isJSON(media):
		return ".json"
	case text:
		return ".txt"
	}
	return ".bin"
}
