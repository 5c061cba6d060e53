// SPDX-License-Identifier: Apache-2.0

// Package kube is all that the egress proxy knows of Kubernetes: it reads grants and the cluster's own addresses, and writes
// Events about refusals.
//
// While the API server is away the proxy goes on with the state that it has. Grants that are not renewed expire by themselves.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

const (
	// NetworkConfigMap is the ConfigMap in which the manager keeps the cluster's own addresses.
	NetworkConfigMap = "motorcortex-egress-network"
	// NetworkKey is its key: a JSON list of prefixes.
	NetworkKey = "cidrs"
)

// Grants receive the grants that were read. *egress.Grants implements it.
type Grants interface {
	Set(g *grant.Grant) error
	Remove(runUID string)
}

// Source keeps Grants as they are in the cluster.
type Source struct {
	grants Grants
	log    *slog.Logger

	secrets, network             cache.SharedIndexInformer
	secretsSynced, networkSynced func() bool
	// prefixes is nil while there is no valid list.
	prefixes atomic.Pointer[[]netip.Prefix]
}

// NewSource makes a Source for the grants of a namespace. It reads nothing before Run.
func NewSource(client corev1client.CoreV1Interface, namespace string, grants Grants, log *slog.Logger) (*Source, error) {
	s := &Source{grants: grants, log: log}
	// Both are asked for by the server: the proxy never has another Secret of the namespace in its memory.
	ofGrants := metav1.ListOptions{
		LabelSelector: labels.Set{v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant}.String(),
		FieldSelector: fields.OneTermEqualSelector("type", grant.SecretType).String(),
	}
	ofNetwork := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, NetworkConfigMap).String()}
	s.secrets = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.Secrets(namespace).List(ctx, selected(o, ofGrants))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Secrets(namespace).Watch(ctx, selected(o, ofGrants))
		},
	}, client), &corev1.Secret{}, 0, cache.Indexers{})
	s.network = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.ConfigMaps(namespace).List(ctx, selected(o, ofNetwork))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.ConfigMaps(namespace).Watch(ctx, selected(o, ofNetwork))
		},
	}, client), &corev1.ConfigMap{}, 0, cache.Indexers{})
	for _, informer := range []cache.SharedIndexInformer{s.secrets, s.network} {
		if err := informer.SetTransform(withoutMetadata); err != nil {
			return nil, fmt.Errorf("bound what is kept of an object: %w", err)
		}
	}
	ofSecrets, err := s.secrets.AddEventHandler(handler(s.grantIs, s.grantGone))
	if err != nil {
		return nil, fmt.Errorf("watch the grants: %w", err)
	}
	ofMap, err := s.network.AddEventHandler(handler(s.networkIs, s.networkGone))
	if err != nil {
		return nil, fmt.Errorf("watch the cluster's addresses: %w", err)
	}
	s.secretsSynced, s.networkSynced = ofSecrets.HasSynced, ofMap.HasSynced
	return s, nil
}

// withoutMetadata reduces an object's metadata to the fields that the proxy reads. A client that may write the object can put more than a
// megabyte into labels, annotations, owners and finalizers, and every replica holds all objects at once.
func withoutMetadata(o any) (any, error) {
	switch object := o.(type) {
	case *corev1.Secret:
		object.ObjectMeta = head(&object.ObjectMeta)
	case *corev1.ConfigMap:
		object.ObjectMeta = head(&object.ObjectMeta)
	}
	return o, nil
}

// head copies the names, which may be parts of a larger text that was read.
func head(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: strings.Clone(m.Name), Namespace: strings.Clone(m.Namespace), UID: types.UID(strings.Clone(string(m.UID))),
		ResourceVersion: strings.Clone(m.ResourceVersion),
	}
}

func selected(o, by metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector, o.FieldSelector = by.LabelSelector, by.FieldSelector
	return o
}

// handler calls is for each existing object, once for each version of it, and gone for each deleted one.
func handler[T metav1.Object](is, gone func(T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if object, ok := o.(T); ok {
				is(object)
			}
		},
		UpdateFunc: func(before, after any) {
			was, _ := before.(T)
			if object, ok := after.(T); ok && was.GetResourceVersion() != object.GetResourceVersion() {
				is(object)
			}
		},
		DeleteFunc: func(o any) {
			if lost, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = lost.Obj
			}
			if object, ok := o.(T); ok {
				gone(object)
			}
		},
	}
}

// Run reads until the context ends, and returns when it has stopped.
func (s *Source) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { s.secrets.RunWithContext(ctx) })
	running.Go(func() { s.network.RunWithContext(ctx) })
	running.Wait()
}

// HasSynced reports whether all grants of the beginning are in force and the cluster's addresses are known.
func (s *Source) HasSynced() bool {
	return s.secretsSynced() && s.networkSynced() && s.prefixes.Load() != nil
}

// Prefixes returns the cluster's own addresses, or nil while they are not known.
func (s *Source) Prefixes() []netip.Prefix {
	if p := s.prefixes.Load(); p != nil {
		return *p
	}
	return nil
}

func (s *Source) grantIs(secret *corev1.Secret) {
	if err := s.set(secret); err != nil {
		s.grantGone(secret)
		s.log.Error("a grant cannot be used", "secret", secret.Name, "error", err)
	}
}

func (s *Source) set(secret *corev1.Secret) error {
	if secret.Type != grant.SecretType {
		return fmt.Errorf("it is of the type %q", secret.Type)
	}
	g, err := grant.Decode(secret.Data)
	if err != nil {
		return err
	}
	// The Secret's name identifies the grant to remove when the Secret is deleted.
	if secret.Name != grant.SecretName(g.RunUID) {
		return errors.New("its name is not that of its run's grant")
	}
	return s.grants.Set(g)
}

func (s *Source) grantGone(secret *corev1.Secret) {
	if runUID, ok := strings.CutPrefix(secret.Name, grant.SecretName("")); ok {
		s.grants.Remove(runUID)
	}
}

func (s *Source) networkIs(m *corev1.ConfigMap) {
	// A server that supports the field selector sends no other object. The proxy must not trust other ConfigMaps of a server that does not.
	if m.Name != NetworkConfigMap {
		return
	}
	prefixes, err := parsePrefixes(m.Data[NetworkKey])
	if err != nil {
		s.prefixes.Store(nil)
		s.log.Error("the cluster's own addresses cannot be read; nothing is let through", "configMap", m.Name, "error", err)
		return
	}
	s.prefixes.Store(&prefixes)
}

func (s *Source) networkGone(m *corev1.ConfigMap) {
	if m.Name != NetworkConfigMap {
		return
	}
	s.prefixes.Store(nil)
	s.log.Error("the cluster's own addresses are gone; nothing is let through", "configMap", m.Name)
}

// parsePrefixes refuses an empty list: every cluster has an API server.
func parsePrefixes(text string) ([]netip.Prefix, error) {
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read %s as a list of prefixes: %w", NetworkKey, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s names no prefix", NetworkKey)
	}
	prefixes := make([]netip.Prefix, 0, len(list))
	for _, p := range list {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", NetworkKey, err)
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}
