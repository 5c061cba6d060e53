package ini

import "testing"

func TestInherit(t *testing.T) {
	f, err := Parse("[a:b]\n[b]\nx=1\n")
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := f.Get("a", "x"); v != "1" {
		t.Error(v)
	}
}
