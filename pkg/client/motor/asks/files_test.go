// SPDX-License-Identifier: Apache-2.0

package asks_test

import (
	"bytes"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

func TestAFileIsTextWhereItIsText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path, content string
		binary        bool
		err           string
	}{
		"text":             {"a.csv", "ä;1\n", false, ""},
		"empty":            {"a", "", false, ""},
		"below folders":    {"a b/c.d/e", "x", false, ""},
		"no UTF-8":         {"logo.png", "\x89PNG\xff", true, ""},
		"a null":           {"a", "a\x00b", true, ""},
		"the largest":      {"a", strings.Repeat("x", asks.MaxFileBytes), false, ""},
		"too large":        {"a", strings.Repeat("x", asks.MaxFileBytes+1), false, "it has 131073 bytes, and may have 131072: put it into a ConfigMap"},
		"no name":          {"", "x", false, "cannot be its name"},
		"absolute":         {"/a", "x", false, "cannot be its name"},
		"the folder above": {"../a", "x", false, "cannot be its name"},
		"hidden":           {"a/.git", "x", false, "cannot be its name"},
		"an escape":        {"a\x1b[8m", "x", false, `"a\x1b[8m" cannot be its name`},
		"no UTF-8 name":    {"a\xff", "x", false, "cannot be its name"},
		"a long name":      {strings.Repeat("x", 256), "x", false, "more than 255 bytes"},
		"many bytes":       {strings.Repeat("日", 85) + "x", "x", false, "more than 255 bytes"},
		"just as many":     {strings.Repeat("日", 85), "x", false, ""},
	} {
		f, err := asks.File(tt.path, []byte(tt.content))
		if tt.err != "" || err != nil {
			if err == nil || !strings.Contains(err.Error(), tt.err) || tt.err == "" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if (f.Content == nil) != tt.binary || f.Path != tt.path || tt.binary && string(f.BinaryContent) != tt.content || !tt.binary && *f.Content != tt.content {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestFilesGoTogether(t *testing.T) {
	t.Parallel()
	file := func(path string, size int) v1alpha1.ResponseFile {
		return v1alpha1.ResponseFile{Path: path, BinaryContent: bytes.Repeat([]byte{0xff}, size)}
	}
	many := make([]v1alpha1.ResponseFile, 0, 9)
	for _, c := range "abcdefghi" {
		many = append(many, file(string(c), 1))
	}
	for name, tt := range map[string]struct {
		files []v1alpha1.ResponseFile
		err   string
	}{
		"none":      {nil, ""},
		"eight":     {many[:8], ""},
		"nine":      {many, "at most 8 files"},
		"as much":   {[]v1alpha1.ResponseFile{file("a", 98304), file("b", 98304)}, ""},
		"too much":  {[]v1alpha1.ResponseFile{file("a", 98304), file("b", 98305)}, "more than 256 KiB together"},
		"twice":     {[]v1alpha1.ResponseFile{file("a", 1), file("a", 1)}, `two files have the name "a"`},
		"a folder":  {[]v1alpha1.ResponseFile{file("d/e/f", 1), file("d", 1)}, `the file "d" would be a folder of the file "d/e/f"`},
		"no folder": {[]v1alpha1.ResponseFile{file("de/f", 1), file("d", 1)}, ""},
	} {
		if err := asks.CheckFiles(tt.files); (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
