// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"net/http"
	"path"
	"strings"
)

// mediaTypes are by file extension. The tables of operating systems differ, and a run must have the same result on each.
var mediaTypes = map[string]string{
	".css": "text/css", ".csv": "text/csv", ".gif": "image/gif", ".gz": "application/gzip", ".htm": "text/html", ".html": "text/html",
	".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript", ".json": "application/json", ".jsonl": "application/x-ndjson",
	".log": "text/plain", ".md": "text/markdown", ".mjs": "text/javascript", ".mp3": "audio/mpeg", ".mp4": "video/mp4",
	".ndjson": "application/x-ndjson", ".parquet": "application/vnd.apache.parquet", ".patch": "text/x-diff", ".diff": "text/x-diff",
	".pdf": "application/pdf", ".png": "image/png", ".py": "text/x-python", ".sh": "text/x-shellscript", ".svg": "image/svg+xml",
	".tar": "application/x-tar", ".toml": "application/toml", ".tsv": "text/tab-separated-values", ".txt": "text/plain",
	".wasm": "application/wasm", ".webp": "image/webp", ".xml": "text/xml", ".yaml": "application/yaml", ".yml": "application/yaml",
	".zip":  "application/zip",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// SniffBytes is how many bytes of a file MediaType looks at.
const SniffBytes = 512

// MediaType returns the media type of a file by its name, or else by its first SniffBytes.
func MediaType(name string, head []byte) string {
	if known, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return known
	}
	return http.DetectContentType(head[:min(len(head), SniffBytes)])
}
