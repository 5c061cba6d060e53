// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// largeFile is a file that a run does not keep in itself.
func largeFile(bytes int) v1alpha1.InputFile {
	return v1alpha1.InputFile{Path: "data.csv", Content: new(strings.Repeat("a;1;2.50 ", bytes/9+1)[:bytes])}
}

// A run that a client creates with a large file refers to it, and is accepted with it. Its ConfigMap is the run's.
func TestLargeFilesAreBesideTheRun(t *testing.T) {
	r := emptyRig(t)
	c, err := motor.New(adminConfig, r.ns)
	must(t, err)
	acted, err := c.Act(r.ctx, motor.Act{Task: "x", Files: []v1alpha1.InputFile{largeFile(200 << 10), {Path: "small", Content: new("x")}}})
	must(t, err)
	var run v1alpha1.MotorRun
	must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: acted.Run}, &run))
	if all, err := json.Marshal(run); err != nil || len(all) > 16<<10 || run.Spec.Files[1].Content == nil || acted.FilesUnowned != "" {
		t.Fatalf("the run has %d bytes, %+v (%v)", len(all), run.Spec.Files[1], err)
	}
	ref := run.Spec.Files[0].ConfigMapKeyRef
	var cm corev1.ConfigMap
	must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: ref.Name}, &cm))
	if cm.Data[ref.Key] != *largeFile(200 << 10).Content || ref.Digest != "sha256:"+hexSum(cm.Data[ref.Key]) || len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != run.UID {
		t.Errorf("%+v leads to %d bytes of %+v", ref, len(cm.Data[ref.Key]), cm.OwnerReferences)
	}
	cm.Data[ref.Key] = "another"
	wantRefused(t, admin.Update(r.ctx, &cm), "immutable")
	r.key, r.now = client.ObjectKeyFromObject(&run), run.CreationTimestamp.Add(time.Second)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "Stalled ")
}

// Files stay in the run where the account has not all of the rights that a ConfigMap needs, and where the API server does not fill in who creates a run:
// it refuses one that refers then. No ConfigMap is left.
func TestLargeFilesAreInTheRunWhereTheyMustBe(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	for name, tt := range map[string]struct {
		maps   string
		labels []string
		beside bool
	}{
		"all rights":          {"create,get,patch,delete configmaps", nil, true},
		"none":                {"list configmaps", nil, false},
		"may not get":         {"create,patch,delete configmaps", nil, false},
		"an older Kubernetes": {"create,get,patch,delete configmaps", []string{withoutStamping, "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := newNamespace(ctx, t, tt.labels...)
			user := "maker@" + ns
			person(ctx, t, ns, user, rights{"create,get motorruns", tt.maps})
			cfg := rest.CopyConfig(adminConfig)
			cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
			c, err := motor.New(cfg, ns)
			must(t, err)
			acted, err := c.Act(ctx, motor.Act{Task: "x", Files: []v1alpha1.InputFile{largeFile(20 << 10)}})
			must(t, err)
			var run v1alpha1.MotorRun
			must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: acted.Run}, &run))
			var left corev1.ConfigMapList
			must(t, admin.List(ctx, &left, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentInputs}))
			if beside := run.Spec.Files[0].Content == nil; beside != tt.beside || (len(left.Items) == 1) != tt.beside || acted.FilesUnowned != "" {
				t.Errorf("beside the run: %t, with %d ConfigMaps, %q without an owner", beside, len(left.Items), acted.FilesUnowned)
			}
		})
	}
}

// BenchmarkStatusWrite measures a write of the status of a run that has a file of 500 KiB, in itself or beside it. etcd-B/op is what etcd stores for it,
// run-B what each watch of runs is sent.
func BenchmarkStatusWrite(b *testing.B) {
	ctx := context.Background()
	for _, name := range []string{"in the run", "beside the run", "no file"} {
		b.Run(name, func(b *testing.B) {
			check := func(err error) {
				b.Helper()
				if err != nil {
					b.Fatal(err)
				}
			}
			ns := namespace(fmt.Sprintf("b%d", namespaces.Add(1)))
			check(admin.Create(ctx, ns))
			var run v1alpha1.MotorRun
			act := motor.Act{Task: "x", Files: []v1alpha1.InputFile{largeFile(250 << 10), largeFile(250 << 10)}}
			act.Files[1].Path = "other.csv"
			switch name {
			case "in the run":
				run = *newRun(ns.Name, func(run *v1alpha1.MotorRun) { run.Spec.Files = act.Files })
				check(admin.Create(ctx, &run))
			default:
				if name == "no file" {
					act.Files = nil
				}
				c, err := motor.New(adminConfig, ns.Name)
				check(err)
				acted, err := c.Act(ctx, act)
				check(err)
				check(admin.Get(ctx, client.ObjectKey{Namespace: ns.Name, Name: acted.Run}, &run))
			}
			before, n := etcdBytes(b), 0
			for b.Loop() {
				n++
				check(manager.Status().Patch(ctx, &run, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"message":"Working on step %d."}}`, n))))
			}
			b.ReportMetric(float64(etcdBytes(b)-before)/float64(n), "etcd-B/op")
			all, err := json.Marshal(run)
			check(err)
			b.ReportMetric(float64(len(all)), "run-B")
			check(admin.Delete(ctx, &run, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &run.UID}}))
		})
	}
}

// etcdBytes is how many bytes were put into etcd so far.
func etcdBytes(b *testing.B) int64 {
	b.Helper()
	resp, err := http.Get(etcdURL + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "etcd_debugging_mvcc_total_put_size_in_bytes "); found {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			return int64(n)
		}
	}
	b.Fatal("etcd does not say how many bytes were put into it")
	return 0
}
