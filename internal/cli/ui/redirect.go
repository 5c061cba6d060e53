// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
)

// redirectPage leads a browser to a link, without a script.
const redirectPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=%[1]s">
<title>Motor Cortex</title>
<p><a href="%[1]s">Open the page</a></p>
`

// redirect is a file that only the user can read, and that leads their browser to a link. The arguments of a program are no place for the link: every
// user of the machine can list them, and could use its code first.
type redirect struct {
	// path of the file. The folder around it is its own.
	path string
}

// newRedirect writes the file.
func newRedirect(link string) (*redirect, error) {
	folder, err := os.MkdirTemp("", "kubectl-motor-ui-") // Its mode is 0700.
	if err != nil {
		return nil, fmt.Errorf("write the file that leads to the link: %w", err)
	}
	r := &redirect{path: filepath.Join(folder, "open.html")}
	if err := os.WriteFile(r.path, fmt.Appendf(nil, redirectPage, html.EscapeString(link)), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the file that leads to the link: %w", err), r.remove())
	}
	return r, nil
}

// remove removes the file. It can be called again, and for no file.
func (r *redirect) remove() error {
	if r == nil {
		return nil
	}
	if err := os.RemoveAll(filepath.Dir(r.path)); err != nil {
		return fmt.Errorf("remove the file that led to the link: %w", err)
	}
	return nil
}
