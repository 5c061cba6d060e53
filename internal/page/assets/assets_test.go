// SPDX-License-Identifier: Apache-2.0

package assets_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/page/assets"
)

func TestFilesAreServed(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/": {200, "text/html; charset=utf-8"}, "/page.js": {200, "text/javascript; charset=utf-8"}, "/page.css": {200, "text/css; charset=utf-8"},
		"/icon.svg": {200, "image/svg+xml"}, "/none.js": {404, "text/plain; charset=utf-8"}, "/../assets.go": {404, "text/plain; charset=utf-8"}, "/..%2fassets.go": {404, "text/plain; charset=utf-8"},
	} {
		w := httptest.NewRecorder()
		assets.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want.status || w.Header().Get("Content-Type") != want.kind {
			t.Errorf("%s: %d, %s", path, w.Code, w.Header().Get("Content-Type"))
		}
	}
}

// forbidden are ways by which a text becomes markup or a script, and by which a page loads what is not its own.
var forbidden = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTML|DOMParser|javascript:|srcdoc|\son[a-z]+=|https?://|url\(|@import|<style|document\.cookie|localStorage`)

func TestNoFileMakesMarkupOfTextsOrLoadsFromElsewhere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("files/*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content := strings.ReplaceAll(string(b), `xmlns="http://www.w3.org/2000/svg"`, "")
		if found := forbidden.FindString(content); found != "" {
			t.Errorf("%s has %q", file, found)
		}
		if strings.HasSuffix(file, ".html") && regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(content) {
			t.Errorf("%s has an inline script, which its policy refuses", file)
		}
	}
}
