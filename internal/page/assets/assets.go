// SPDX-License-Identifier: Apache-2.0

// Package assets has the files of the page. They are written by hand, without a step that builds them, and load nothing from anywhere else.
package assets

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
)

//go:embed files
var files embed.FS

// types are the media types of the files: those of the machine may say otherwise.
var types = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// Handler serves the files, and index.html for /.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[1:]
		if name == "" {
			name = "index.html"
		}
		content, err := fs.ReadFile(files, "files/"+name)
		kind := types[path.Ext(name)]
		if err != nil || kind == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(content) // A browser that left needs no answer.
	})
}
