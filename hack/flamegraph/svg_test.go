// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestDraw(t *testing.T) {
	t.Parallel()
	root := &box{name: "all"}
	root.add([]string{"motorloop.(*Loop).Run", "json.Marshal"}, 600*time.Millisecond)
	root.add([]string{"motorloop.(*Loop).Run", "a<b>&"}, 396*time.Millisecond)
	root.add([]string{"motorloop.(*Loop).Run", "too.Little"}, 4*time.Millisecond)
	var b strings.Builder
	draw(&b, root, "a run & more", 0.5)
	picture := b.String()
	for _, want := range []string{
		`<title>motorloop.(*Loop).Run 100.0 %</title><rect x="0.0" y="68" width="1200.0"`,
		`<title>json.Marshal 60.0 %</title><rect x="0.0" y="51" width="720.0"`,
		`<title>a&lt;b&gt;&amp; 39.6 %</title><rect x="720.0" y="51" width="475.2"`,
		"a run &amp; more",
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture has no %s:\n%s", want, picture)
		}
	}
	for _, not := range []string{"too.Little", "href", "script", "url("} {
		if strings.Contains(picture, not) {
			t.Errorf("the picture has %s", not)
		}
	}
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFitting(t *testing.T) {
	t.Parallel()
	for wide, want := range map[float64]string{1000: "json.Marshal", 60: "json...", 30: "", 1: ""} {
		if got := fitting("json.Marshal", wide); got != want {
			t.Errorf("%g: %q, want %q", wide, got, want)
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"motorloop.stamp": "this project", "json.Marshal": "JSON", "sha256.block": "hashes and encryption", "runtime.gcDrain": "memory and scheduler of Go", "template.Execute": "other"} {
		for _, c := range colours {
			if c.what == want && colourOf(name) != c.colour {
				t.Errorf("%s has not the colour of %s", name, want)
			}
		}
	}
}
