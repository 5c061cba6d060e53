// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// labelSuite is on every namespace of the tests; its value is the suite's id.
	labelSuite = "e2e.motorcortex.dev/suite"
	// oldAfter is longer than a suite may take.
	oldAfter = 30 * time.Minute

	// restricted and privileged are what Pods of a namespace are held to.
	restricted, privileged = "restricted", "privileged"
)

// createNamespace makes a namespace that holds its Pods to a Pod Security Standard, and waits until Pods can be made.
func createNamespace(ctx context.Context, purpose, standard string) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("motorcortex-e2e-%s-%s", purpose, rand.String(5)),
		Labels: map[string]string{
			labelSuite:                           suite.id,
			"pod-security.kubernetes.io/enforce": standard,
			// The tests look into sandboxes, and have some report what they did.
			v1alpha1.LabelSandboxExec:            "allowed",
			v1alpha1.LabelSandboxNetworkPolicies: "allowed",
		},
	}}
	if err := suite.client.Create(ctx, ns); err != nil {
		return "", err
	}
	account := types.NamespacedName{Namespace: ns.Name, Name: "default"}
	return ns.Name, await(ctx, soon, &corev1.ServiceAccountList{}, one(account), func(ctx context.Context) (bool, error) {
		return exists(ctx, account, &corev1.ServiceAccount{})
	})
}

// newNamespace makes a namespace for one test. It goes when the suite ends.
func newNamespace(t *testing.T, purpose string) string {
	t.Helper()
	ns, err := createNamespace(t.Context(), purpose, restricted)
	must(t, err)
	return ns
}

func createCortex(ctx context.Context, namespace string, model v1alpha1.ModelEndpoint) error {
	return suite.client.Create(ctx, &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.CortexName},
		Spec: v1alpha1.MotorCortexSpec{
			Models: v1alpha1.ModelSet{Default: &model},
			// Tests run beside each other.
			Concurrency: &v1alpha1.Concurrency{MaxActive: 1000},
		},
	})
}

// ownNamespaces are the namespaces of this suite.
func ownNamespaces(ctx context.Context) ([]corev1.Namespace, error) {
	var list corev1.NamespaceList
	err := suite.client.List(ctx, &list, client.MatchingLabels{labelSuite: suite.id})
	return list.Items, err
}

// removeNamespaces deletes all that the suite made and waits until it is gone.
func removeNamespaces(ctx context.Context) error {
	own, err := ownNamespaces(ctx)
	for i := range own {
		err = errors.Join(err, client.IgnoreNotFound(suite.client.Delete(ctx, &own[i])))
	}
	if err != nil {
		return err
	}
	return await(ctx, soon, &corev1.NamespaceList{}, []client.ListOption{client.MatchingLabels{labelSuite: suite.id}},
		func(ctx context.Context) (bool, error) {
			own, err := ownNamespaces(ctx)
			return len(own) == 0, err
		})
}

// removeOldNamespaces deletes what a suite left that was killed.
func removeOldNamespaces(ctx context.Context) error {
	var list corev1.NamespaceList
	if err := suite.client.List(ctx, &list, client.HasLabels{labelSuite}); err != nil {
		return err
	}
	for i := range list.Items {
		if time.Since(list.Items[i].CreationTimestamp.Time) < oldAfter {
			continue
		}
		if err := suite.client.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// noSandboxIsLeft looks for sandboxes in the namespaces of the suite: every run has ended or was deleted.
func noSandboxIsLeft(ctx context.Context) error {
	own, err := ownNamespaces(ctx)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, ns := range own {
		ours[ns.Name] = true
	}
	var left []string
	sandboxes := []client.ListOption{client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}}
	err = await(ctx, soon, &corev1.PodList{}, sandboxes, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		if err := suite.client.List(ctx, &pods, sandboxes...); err != nil {
			return false, err
		}
		left = nil
		for _, p := range pods.Items {
			if ours[p.Namespace] {
				left = append(left, p.Namespace+"/"+p.Name)
			}
		}
		return len(left) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("sandboxes are left: %s: %w", strings.Join(left, ", "), err)
	}
	return nil
}

// await returns when done says so. done is asked at the beginning and after every change of the watched objects; it reads
// for itself what it has to know.
func await(ctx context.Context, within time.Duration, list client.ObjectList, watched []client.ListOption, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it did not happen within %s", within))
	defer cancel()
	for {
		ended, err := awaitOnce(ctx, list, watched, done)
		if ctx.Err() != nil && !ended {
			return context.Cause(ctx)
		}
		if ended || err != nil {
			return err
		}
	}
}

// awaitOnce is await for as long as the API server keeps one watch open.
func awaitOnce(ctx context.Context, list client.ObjectList, watched []client.ListOption, done func(context.Context) (bool, error)) (bool, error) {
	w, err := suite.client.Watch(ctx, list, watched...)
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for {
		if ended, err := done(ctx); ended || err != nil {
			return ended, err
		}
		select {
		case _, open := <-w.ResultChan():
			if !open {
				return false, nil
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// one watches a single object.
func one(key types.NamespacedName) []client.ListOption {
	return []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}}
}

// exists reads an object.
func exists(ctx context.Context, key types.NamespacedName, into client.Object) (bool, error) {
	err := suite.client.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
