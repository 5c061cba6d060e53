// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// archived writes an archive of headers, whose files have as many zeros as the headers announce.
func archived(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		err := w.WriteHeader(h)
		if err == nil {
			_, err = io.CopyN(w, zeros{}, h.Size)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func file(name string, size int64) *tar.Header {
	return &tar.Header{Name: name, Size: size, Typeflag: tar.TypeReg}
}

func kind(name string, flag byte) *tar.Header {
	return &tar.Header{Name: name, Typeflag: flag, Linkname: "target"}
}

func TestUntarRefuses(t *testing.T) {
	t.Parallel()
	many := make([]*tar.Header, maxEntries+1)
	for i := range many {
		many[i] = file(fmt.Sprintf("assets/%d", i), 0)
	}
	short := archived(t, file("SKILL.md", 4096))
	damaged := append([]byte{0x1f, 0x8b}, bytes.Repeat([]byte("x"), 100)...)
	for name, tt := range map[string]struct {
		data            []byte
		reason, message string
	}{
		"a link":                 {archived(t, kind("scripts/a", tar.TypeSymlink)), v1alpha1.ReasonSkillInvalid, `"scripts/a" in the archive is a link`},
		"a hard link":            {archived(t, kind("scripts/a", tar.TypeLink)), v1alpha1.ReasonSkillInvalid, `"scripts/a" in the archive is a link`},
		"a device":               {archived(t, kind("scripts/a", tar.TypeChar)), v1alpha1.ReasonSkillInvalid, `"scripts/a" in the archive is no file`},
		"a pipe":                 {archived(t, kind("scripts/a", tar.TypeFifo)), v1alpha1.ReasonSkillInvalid, `"scripts/a" in the archive is no file`},
		"a path out of it":       {archived(t, file("scripts/../../a", 1)), v1alpha1.ReasonSkillInvalid, "not within it"},
		"an absolute path":       {archived(t, file("/etc/passwd", 1)), v1alpha1.ReasonSkillInvalid, `"/etc/passwd", which is not within it`},
		"the same path twice":    {archived(t, file("scripts/a", 1), file("./scripts//a", 1)), v1alpha1.ReasonSkillInvalid, `"scripts/a" is there twice`},
		"a name beyond measure":  {archived(t, kind("scripts/"+strings.Repeat("a", 5000), tar.TypeSymlink)), v1alpha1.ReasonSkillInvalid, "aaa…\""},
		"a name that turns text": {archived(t, kind("scripts/\u202eyp.dab", tar.TypeSymlink)), v1alpha1.ReasonSkillInvalid, `\u202e`},
		"too many entries":       {archived(t, many...), v1alpha1.ReasonSkillTooLarge, "more than 10000 entries"},
		"an end before the end":  {short[:1000], v1alpha1.ReasonSkillInvalid, "unexpected EOF"},
		"nothing":                {nil, v1alpha1.ReasonSkillInvalid, "The archive is empty"},
		"something else":         {bytes.Repeat([]byte("text"), 1000), v1alpha1.ReasonSkillInvalid, "cannot be read"},
		"a damaged compression":  {damaged, v1alpha1.ReasonSkillInvalid, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := untar(bytes.NewReader(tt.data), "", &collection{})
			p, ok := errors.AsType[*Problem](err)
			if !ok || p.Reason != tt.reason || !strings.Contains(p.Message, tt.message) {
				t.Fatalf("the error is %v, want %q with %s", err, tt.message, tt.reason)
			}
			if len(p.Message) > 600 {
				t.Errorf("the message has %d bytes", len(p.Message))
			}
		})
	}
}

// Little of an archive is read, whatever sizes it announces.
func TestUntarIsBounded(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := io.CopyN(w, io.MultiReader(bytes.NewReader(archived(t, file("assets/a", 100<<20))), zeros{}), 101<<20); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in := &counted{r: bytes.NewReader(bomb.Bytes())}
	var files collection
	err := untar(in, "", &files)
	if p, ok := errors.AsType[*Problem](err); !ok || p.Reason != v1alpha1.ReasonSkillTooLarge {
		t.Errorf("the error is %v", err)
	}
	if in.n > bomb.Len()*3/4 {
		t.Errorf("%d of %d bytes were read", in.n, bomb.Len())
	}
	if len(files.list) != 1 || len(files.list[0].Content) != skill.MaxFileBytes+1 {
		t.Errorf("of a file that is too large there is not just the beginning")
	}
	// A file with holes has more than there is of it in the archive.
	holes := collection{size: maxUnpackedBytes}
	if err := holes.add(skill.File{Path: "a", Content: []byte("a")}); err == nil {
		t.Error("files with holes have no bound")
	}
}

type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestBounded(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 9, 10, 11, 100} {
		got, err := io.ReadAll(&bounded{r: bytes.NewReader(make([]byte, size)), left: 10})
		if len(got) != min(size, 10) || errors.Is(err, errTooLong) != (size > 10) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
	}
}

func TestWithoutFolder(t *testing.T) {
	t.Parallel()
	const manifest = "---\nname: weather\ndescription: Tells the weather.\n---\n"
	for name, tt := range map[string]struct {
		paths, want []string
		problem     bool
	}{
		"none":                      {},
		"without a folder":          {paths: []string{"SKILL.md", "scripts/a"}, want: []string{"SKILL.md", "scripts/a"}},
		"in the skill's folder":     {paths: []string{"weather/SKILL.md", "weather/scripts/a"}, want: []string{"SKILL.md", "scripts/a"}},
		"in another folder":         {paths: []string{"wind/SKILL.md", "wind/scripts/a"}, problem: true},
		"in a folder, and one not":  {paths: []string{"weather/SKILL.md", "README.md"}, want: []string{"weather/SKILL.md", "README.md"}},
		"in a folder that is none":  {paths: []string{"weather/a", "weather/b"}, want: []string{"weather/a", "weather/b"}},
		"in a folder of folders":    {paths: []string{"skills/weather/SKILL.md"}, want: []string{"skills/weather/SKILL.md"}},
		"a SKILL.md that is wrong":  {paths: []string{"weather/SKILL.md:"}, want: []string{"SKILL.md"}},
		"two with a common begin":   {paths: []string{"weather/SKILL.md", "weather2/a"}, want: []string{"weather/SKILL.md", "weather2/a"}},
		"in a folder with odd name": {paths: []string{"./SKILL.md"}, problem: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var files []skill.File
			for _, p := range tt.paths {
				path, wrong := strings.CutSuffix(p, ":")
				content := manifest
				if wrong {
					content = "no front matter"
				}
				files = append(files, skill.File{Path: path, Content: []byte(content)})
			}
			got, err := withoutFolder(files)
			if (err != nil) != tt.problem {
				t.Fatal(err)
			}
			var paths []string
			for _, f := range got {
				paths = append(paths, f.Path)
			}
			if strings.Join(paths, " ") != strings.Join(tt.want, " ") {
				t.Errorf("%q, want %q", paths, tt.want)
			}
		})
	}
}

func TestMayBePlain(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "::1": true, "registry.team.svc": true, "registry.team.svc.cluster.local": true,
		"source-controller.flux-system.svc.cluster.local.": true, "REGISTRY.TEAM.SVC": true,
		"registry.example.org": false, "svc": false, "10.0.0.1": false, "169.254.169.254": false, "svc.example.org": false, "localhost.example.org": false, "": false,
	} {
		if got := mayBePlain(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}

// FuzzUntar: no archive exceeds the limits, or yields a path that leads out.
func FuzzUntar(f *testing.F) {
	f.Add(archived(f, file("SKILL.md", 10), kind("scripts", tar.TypeDir), file("scripts/a", 1)))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, data []byte) {
		var files collection
		err := untar(bytes.NewReader(data), "", &files)
		if _, ok := errors.AsType[*Problem](err); err != nil && !ok {
			t.Fatalf("no problem, but %v", err)
		}
		size := 0
		for _, f := range files.list {
			size += len(f.Content)
			if strings.HasPrefix(f.Path, "/") || strings.HasPrefix(f.Path+"/", "../") {
				t.Fatalf("the path %q", f.Path)
			}
		}
		if size > maxUnpackedBytes {
			t.Fatalf("%d bytes", size)
		}
	})
}
