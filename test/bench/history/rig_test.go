// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestTheSizeIsThatInUse(t *testing.T) {
	t.Parallel()
	got, err := sizeIn([]byte("etcd_mvcc_db_total_size_in_bytes 9e+06\n# HELP etcd_mvcc_db_total_size_in_use_in_bytes x\netcd_mvcc_db_total_size_in_use_in_bytes 2.5e+06\n"))
	if err != nil || got != 2_500_000 {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := sizeIn([]byte("other 1\n")); err == nil {
		t.Error("metrics without the size are no error")
	}
}

func TestTheProcessorTimeIsThatOfUserAndSystem(t *testing.T) {
	t.Parallel()
	got, err := usedIn("7 (a ) name) S 1 7 7 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 9 0 1 2 3")
	if err != nil || got != 1750*time.Millisecond {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "7 (name) S 1", "7 (name) S 1 7 7 0 -1 4194560 100 0 0 0 x 25"} {
		if _, err := usedIn(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

func TestTheEndOfWhatAProgramSaysIsKept(t *testing.T) {
	t.Parallel()
	var said tail
	for range 3 {
		if n, err := said.Write([]byte(strings.Repeat("x", maxSaid))); n != maxSaid || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	_, _ = said.Write([]byte("the end"))
	if got := said.String(); len(got) != maxSaid || !strings.HasSuffix(got, "xthe end") {
		t.Errorf("%d bytes are kept, the last of them %q", len(got), got[len(got)-10:])
	}
}

func TestTheManagerActsWithItsOwnRights(t *testing.T) {
	t.Parallel()
	r := &rig{folder: t.TempDir()}
	file, err := r.write("manager", &rest.Config{Host: "127.0.0.1:1"}, managerUser)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil || config.Impersonate.UserName != managerUser || config.Host != "https://127.0.0.1:1" {
		t.Errorf("%+v, %v", config, err)
	}
}
