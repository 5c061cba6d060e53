// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/test/printed"
)

const ns = "operator"

// held is the Grants of the tests.
type held struct {
	mu   sync.Mutex
	runs map[string]int32
}

func (h *held) Set(g *grant.Grant) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[g.RunUID] = g.Attempt
	return nil
}

func (h *held) Remove(runUID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, runUID)
}

func (h *held) is(want map[string]int32) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Equal(h.runs, want)
}

func grantSecret(t *testing.T, runUID string, attempt int32, version string) *corev1.Secret {
	t.Helper()
	g := grant.Grant{
		RunUID: runUID, PodUID: "pod", TokenHash: "hash", Attempt: attempt, ExpiresAt: time.Now().Add(time.Minute),
		Credentials: []grant.Credential{{Name: "c", Value: secret.New([]byte("the secret value"))}},
	}
	data, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: grant.SecretName(runUID), ResourceVersion: version,
			Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant},
		},
		Type: grant.SecretType, Data: data,
	}
}

func network(text, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: NetworkConfigMap, ResourceVersion: version}, Data: map[string]string{NetworkKey: text},
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// listing reports that the client of the tests cannot send a list as a watch.
type listing struct{ corev1client.CoreV1Interface }

func (listing) IsWatchListSemanticsUnSupported() bool { return true }

// start runs a Source on a cluster with these objects.
func start(t *testing.T, client *fake.Clientset) (*Source, *held, *printed.Text) {
	t.Helper()
	h, l := &held{runs: map[string]int32{}}, &printed.Text{}
	s, err := NewSource(listing{client.CoreV1()}, ns, h, slog.New(slog.NewTextHandler(l, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		if strings.Count(l.String(), "the secret value") > 0 || strings.Count(l.String(), "dGhlIHNlY3JldCB2YWx1ZQ") > 0 {
			t.Error("a value is in the log")
		}
	})
	return s, h, l
}

func TestGrants(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(grantSecret(t, "a", 1, "1"), network(`["10.0.0.0/8"]`, "1"), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "another"}})
	s, h, l := start(t, client)
	eventually(t, "in step with the cluster", s.HasSynced)
	if !h.is(map[string]int32{"a": 1}) {
		t.Fatalf("synced with the grants %v", h.runs)
	}
	api := client.CoreV1().Secrets(ns)
	create := func(of *corev1.Secret) {
		t.Helper()
		if _, err := api.Create(t.Context(), of, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	update := func(of *corev1.Secret) {
		t.Helper()
		if _, err := api.Update(t.Context(), of, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(grantSecret(t, "b", 1, "2"))
	update(grantSecret(t, "a", 2, "3"))
	eventually(t, "a new grant and a changed one", func() bool { return h.is(map[string]int32{"a": 2, "b": 1}) })

	// Unreadable content is not a grant, and is reported once.
	broken := grantSecret(t, "a", 3, "4")
	broken.Data["grant.json"] = []byte("{")
	update(broken)
	eventually(t, "a broken grant is gone", func() bool { return h.is(map[string]int32{"b": 1}) })
	eventually(t, "a broken grant is told of", func() bool { return strings.Count(l.String(), "a grant cannot be used") == 1 })
	update(grantSecret(t, "a", 4, "5"))
	eventually(t, "a grant that was mended counts", func() bool { return h.is(map[string]int32{"a": 4, "b": 1}) })

	// No content replaces the grant of another run, and no grant is removed with a Secret of another name.
	forged := grantSecret(t, "b", 9, "6")
	forged.Name = grant.SecretName("c")
	create(forged)
	odd := grantSecret(t, "d", 1, "7")
	odd.Type = corev1.SecretTypeOpaque
	create(odd)
	eventually(t, "forgeries are told of", func() bool { return strings.Count(l.String(), "a grant cannot be used") == 3 })
	for _, name := range []string{"c", "a"} {
		if err := api.Delete(t.Context(), grant.SecretName(name), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a grant is gone with its Secret", func() bool { return h.is(map[string]int32{"b": 1}) })
}

// The objects that the proxy holds have no metadata that it does not read, however much of it there is.
func TestTheProxyHoldsNoFatMetadata(t *testing.T) {
	t.Parallel()
	fat := func(m *metav1.ObjectMeta) {
		long := strings.Repeat("A", 1_400_000)
		m.UID, m.GenerateName, m.Annotations, m.Finalizers = "u", long, map[string]string{"a": long}, []string{long}
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: long, UID: "x"}}
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: long}}
		metav1.SetMetaDataLabel(m, "other", long)
	}
	ofGrant, ofNetwork := grantSecret(t, "a", 1, "1"), network(`["10.0.0.0/8"]`, "2")
	fat(&ofGrant.ObjectMeta)
	fat(&ofNetwork.ObjectMeta)
	s, h, _ := start(t, fake.NewClientset(ofGrant, ofNetwork))
	eventually(t, "in step with the cluster", s.HasSynced)
	if !h.is(map[string]int32{"a": 1}) || len(s.Prefixes()) != 1 {
		t.Errorf("the grants are %v, and the addresses %v", h.runs, s.Prefixes())
	}
	want := map[string]metav1.ObjectMeta{
		ofGrant.Name:     {Name: ofGrant.Name, Namespace: ns, UID: "u", ResourceVersion: "1"},
		NetworkConfigMap: {Name: NetworkConfigMap, Namespace: ns, UID: "u", ResourceVersion: "2"},
	}
	got := map[string]metav1.ObjectMeta{}
	for _, o := range append(s.secrets.GetStore().List(), s.network.GetStore().List()...) {
		m := *o.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
		if b, err := m.Marshal(); err != nil || len(b) > 4096 {
			t.Fatalf("%s: %d bytes of metadata are held, %v", m.Name, len(b), err)
		}
		got[m.Name] = m
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	s, _, l := start(t, client)
	api := client.CoreV1().ConfigMaps(ns)
	eventually(t, "both lists are read", func() bool { return s.secretsSynced() && s.networkSynced() })
	if s.HasSynced() || s.Prefixes() != nil {
		t.Error("ready without the cluster's addresses")
	}
	steps := []struct {
		name string
		do   func(corev1client.ConfigMapInterface) error
		want []netip.Prefix
	}{
		{"appears", func(c corev1client.ConfigMapInterface) error {
			_, err := c.Create(t.Context(), network(`["10.96.0.7/12", "fd00::/8"]`, "1"), metav1.CreateOptions{})
			return err
		}, []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd00::/8")}},
		{"is broken", func(c corev1client.ConfigMapInterface) error {
			_, err := c.Update(t.Context(), network(`["10.96.0.0"]`, "2"), metav1.UpdateOptions{})
			return err
		}, nil},
		{"is mended", func(c corev1client.ConfigMapInterface) error {
			_, err := c.Update(t.Context(), network(`["10.0.0.0/8"]`, "3"), metav1.UpdateOptions{})
			return err
		}, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		{"is deleted", func(c corev1client.ConfigMapInterface) error {
			return c.Delete(t.Context(), NetworkConfigMap, metav1.DeleteOptions{})
		}, nil},
	}
	for _, step := range steps {
		if err := step.do(api); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the list "+step.name, func() bool {
			return cmp.Equal(s.Prefixes(), step.want, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })) && s.HasSynced() == (step.want != nil)
		})
	}
	if strings.Count(l.String(), "nothing is let through") != 2 {
		t.Error("an operator is not told why nothing is let through")
	}
}

func TestParsePrefixes(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		`["10.0.0.0/8"]`: true, `["10.0.0.1/32","::/0"]`: true,
		``: false, `null`: false, `[]`: false, `["10.0.0.0"]`: false, `["10.0.0.0/33"]`: false, `{"a":1}`: false, `["10.0.0.0/8", ""]`: false,
	} {
		if got, err := parsePrefixes(text); (err == nil) != ok || ok == (got == nil) {
			t.Errorf("%q gives %v, %v", text, got, err)
		}
	}
}
