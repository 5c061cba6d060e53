// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoted is a path as git writes it in a diff: as it is if it can be shown, or else in quotes and with the escapes of C.
func quoted(prefix, path string) string {
	if !strings.ContainsFunc(path, odd) && utf8.ValidString(path) {
		return prefix + path
	}
	var b strings.Builder
	b.WriteString(`"` + prefix)
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(path[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && size == 1, odd(r):
			for _, c := range []byte(path[i : i+size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteString(path[i : i+size])
		}
		i += size
	}
	b.WriteByte('"')
	return b.String()
}

// odd finds what cannot stand in a line of a diff, or would show as something else than it is.
func odd(r rune) bool { return r == '"' || r == '\\' || !unicode.IsPrint(r) }

// gitRefuses reports whether git applies no diff that names the path: it would cost all other files of the diff. It is a little
// stricter than git, which asks this for the filesystems of Windows and macOS on every system.
func gitRefuses(path string) bool {
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		part = strings.ToLower(strings.Map(visible, part))
		part, _, _ = strings.Cut(part, ":")
		if part = strings.TrimRight(part, " ."); part == ".git" || part == "git~1" || part == "" {
			return true
		}
	}
	return strings.Contains(path, "\\\\") || len(path) > maxPath
}

// visible drops what some filesystems pass over in a name.
func visible(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}
