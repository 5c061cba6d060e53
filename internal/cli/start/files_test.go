// SPDX-License-Identifier: Apache-2.0

package start

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.csv", "1;2\n")
	write("data/b.csv", "3\n")
	write("big", strings.Repeat("x", maxFile+1))
	write("logo.png", "\x89PNG\xff")
	write("most", strings.Repeat("x", maxFile))
	for link, to := range map[string]string{"link.csv": "a.csv", "folder": "data", "endless": "/dev/zero"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	write("escaped", strings.Repeat("<", maxAllFiles/6+1))
	for name, tt := range map[string]struct {
		args []string
		want []string
		says string
	}{
		"none":                  {nil, nil, ""},
		"by their names":        {[]string{"a.csv", "./data/b.csv"}, []string{"a.csv 1;2\n", "data/b.csv 3\n"}, ""},
		"from elsewhere":        {[]string{filepath.Join(dir, "data", "b.csv"), "data/../a.csv"}, []string{"b.csv 3\n", "a.csv 1;2\n"}, ""},
		"under another name":    {[]string{"a.csv=in/data.csv"}, []string{"in/data.csv 1;2\n"}, ""},
		"the largest":           {[]string{"most"}, []string{"most " + strings.Repeat("x", maxFile)}, ""},
		"a link to a file":      {[]string{"link.csv"}, []string{"link.csv 1;2\n"}, ""},
		"a link to a folder":    {[]string{"folder"}, nil, "it is a folder: name its files"},
		"a link to a device":    {[]string{"endless"}, nil, "it is no file"},
		"none of that name":     {[]string{"c.csv"}, nil, "--file c.csv: open c.csv: no such file"},
		"a folder":              {[]string{"data"}, nil, "it is a folder: name its files"},
		"too large":             {[]string{"big"}, nil, "more than 262144 bytes: put larger ones into ConfigMaps"},
		"no text":               {[]string{"logo.png"}, nil, "it is no text in UTF-8"},
		"too large together":    {[]string{"most", "most=b", "a.csv"}, nil, "more than 524288 bytes together"},
		"too large when stored": {[]string{"escaped"}, nil, "more than 524288 bytes together in JSON"},
	} {
		files, err := readFiles(tt.args)
		var got []string
		for _, f := range files {
			got = append(got, f.Path+" "+*f.Content)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v (-want +got):\n%.300s", name, err, diff)
		}
	}
}
