// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/progress"
)

// TestStagesCoverEveryComponent prevents that a new component is listed and never started, or started
// and never waited for.
func TestStagesCoverEveryComponent(t *testing.T) {
	for _, uplink := range []bool{false, true} {
		c := &Cluster{layout: testLayout(t), record: record{Uplink: uplink, HostPort: 1}}
		var listed, begun, awaited []string
		for _, d := range c.daemons() {
			listed = append(listed, d.name)
		}
		for _, s := range c.stages(image{}) {
			begun, awaited = append(begun, s.begin...), append(awaited, s.await...)
		}
		for _, names := range [][]string{listed, begun, awaited} {
			slices.Sort(names)
		}
		if diff := cmp.Diff(listed, begun); diff != "" {
			t.Errorf("uplink %t: begun (-listed +begun):\n%s", uplink, diff)
		}
		if diff := cmp.Diff(listed, awaited); diff != "" {
			t.Errorf("uplink %t: awaited (-listed +awaited):\n%s", uplink, diff)
		}
	}
}

func TestFailureNamesTheComponentAndShowsItsLog(t *testing.T) {
	c := &Cluster{layout: testLayout(t), out: progress.New(io.Discard)}
	cause := errors.New("it has ended")
	if err := c.failure("etcd", cause); !errors.Is(err, cause) || !strings.Contains(err.Error(), "etcd: ") {
		t.Errorf("without a log: %v", err)
	}
	lines := strings.Repeat("an early line\n", 100) + "the last words\n"
	if err := os.MkdirAll(filepath.Dir(c.log("etcd")), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.log("etcd"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	got := c.failure("etcd", cause).Error()
	if !strings.HasPrefix(got, "etcd: it has ended") || !strings.HasSuffix(got, "the last words") {
		t.Errorf("with a log: %s", got)
	}
	if count := strings.Count(got, "\n"); count != logLines {
		t.Errorf("%d lines of log, want %d", count, logLines)
	}
}

func TestMountsBelow(t *testing.T) {
	table := `21 1 0:19 / /run rw - tmpfs tmpfs rw
22 21 0:20 / /run/test rw - tmpfs tmpfs rw
23 21 0:21 / /run/test-other rw - tmpfs tmpfs rw
24 21 0:22 / /run/test/with\040space rw - tmpfs tmpfs rw
short line
`
	want := []string{"/run/test", "/run/test/with space"}
	if diff := cmp.Diff(want, mountsBelow(table, "/run/test", "/var/lib/test")); diff != "" {
		t.Errorf("mountsBelow() (-want +got):\n%s", diff)
	}
}

func TestExecEnvironment(t *testing.T) {
	c := &Cluster{layout: testLayout(t)}
	got := c.execEnv([]string{"A=1", "KUBECONFIG=/other", "https_proxy=http://example.com", "B=2"})
	if diff := cmp.Diff([]string{"A=1", "B=2", "KUBECONFIG=" + c.insideKubeconfig()}, got); diff != "" {
		t.Errorf("execEnv() (-want +got):\n%s", diff)
	}
}

func TestForgetContainersKeepsImages(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "io.containerd.metadata.v1.bolt", "meta.db")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		version, err := tx.CreateBucket([]byte("v1"))
		if err != nil {
			return err
		}
		namespace, err := version.CreateBucket([]byte("k8s.io"))
		for _, kind := range []string{"images", "containers", "sandboxes"} {
			if err == nil {
				_, err = namespace.CreateBucket([]byte(kind))
			}
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := forgetContainers(root); err != nil {
			t.Fatal(err)
		}
	}
	db, err = bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var left []string
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("v1")).Bucket([]byte("k8s.io")).ForEachBucket(func(kind []byte) error {
			left = append(left, string(kind))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"images"}, left); diff != "" {
		t.Errorf("left in the store (-want +got):\n%s", diff)
	}
}

func TestForgetContainersRemovesAnUnfinishedStore(t *testing.T) {
	root := filepath.Join(t.TempDir(), "containerd")
	if err := os.MkdirAll(filepath.Join(root, "half"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := forgetContainers(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the store is still there: %v", err)
	}
}
