// SPDX-License-Identifier: Apache-2.0

// Package workpath judges the paths of a workspace, which its sandbox names.
package workpath

import (
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// IsPlain reports whether a path of the workspace can be shown and requested unchanged.
func IsPlain(p string) bool {
	return p != "" && p != "." && len(p) <= toolapi.MaxArtifactPath && filepath.IsLocal(p) && path.Clean(p) == p && !strings.ContainsFunc(p, isOdd) &&
		norm.NFC.IsNormalString(p)
}

func isOdd(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// Clean returns the printable part of a path. It retains only ASCII of a path that is not normalized: é in one character and é in two look the same.
func Clean(p string) string {
	normal := norm.NFC.IsNormalString(p)
	p = strings.Map(func(r rune) rune {
		if isOdd(r) || !normal && r >= utf8.RuneSelf {
			return utf8.RuneError
		}
		return r
	}, p)
	return strings.ToValidUTF8(p[:min(len(p), toolapi.MaxArtifactPath)], "")
}
