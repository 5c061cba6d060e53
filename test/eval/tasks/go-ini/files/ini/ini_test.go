package ini

import "testing"

func TestPlain(t *testing.T) {
	f, err := Parse("[a]\nx = 1\n# no\n[b]\nx=2\n")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := f.Get("b", "x"); v != "2" || !ok {
		t.Errorf("%q %t", v, ok)
	}
}
