// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// fieldManager owns what the demo applies. Kubectl owns what a person changes later.
	fieldManager = "motorcortex-demo"
	// scriptedDir is the folder of the sample that sets the scripted model.
	scriptedDir = "scripted"

	secretName, secretKey = "model-key", "apiKey"
	defaultBaseURL        = "https://api.openai.com/v1"
	defaultModel          = "gpt-5-mini"
)

// model is what the environment says about the model to use.
type model struct{ key, baseURL, name string }

func (m model) scripted() bool { return m.key == "" && m.baseURL == "" }

func (m model) complete() (model, error) {
	if m.scripted() {
		return m, nil
	}
	if m.baseURL != "" && m.name == "" {
		return m, errors.New("OPENAI_BASE_URL is set and OPENAI_MODEL is not: name the model that the endpoint serves")
	}
	m.baseURL, m.name = cmp.Or(m.baseURL, defaultBaseURL), cmp.Or(m.name, defaultModel)
	return m, nil
}

func (m model) String() string {
	if m.scripted() {
		return "scripted (set OPENAI_API_KEY for a real one)"
	}
	return m.name + " at " + m.baseURL
}

// kustomize builds a folder as kubectl apply -k does.
func kustomize(ctx context.Context, kubectl, dir string) ([]*unstructured.Unstructured, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, kubectl, "kustomize", dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s kustomize %s: %w\n%s", kubectl, dir, err, strings.TrimSpace(stderr.String()))
	}
	return decode(&stdout)
}

func decode(in io.Reader) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(in, 4096)
	var objects []*unstructured.Unstructured
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(u)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}

// sample is what the demo applies: the run, and what has to be there before it.
type sample struct {
	before []*unstructured.Unstructured
	run    *unstructured.Unstructured
}

func readSample(ctx context.Context, kubectl, dir, namespace string) (sample, error) {
	objects, err := kustomize(ctx, kubectl, dir)
	if err != nil {
		return sample{}, err
	}
	var s sample
	for _, o := range objects {
		o.SetNamespace(namespace)
		switch {
		case o.GetKind() != "MotorRun":
			s.before = append(s.before, o)
		case s.run != nil:
			return s, fmt.Errorf("%s has more than one MotorRun", dir)
		default:
			s.run = o
		}
	}
	if s.run == nil {
		return s, fmt.Errorf("%s has no MotorRun", dir)
	}
	return s, nil
}

// prepare does all that has to be done before the run is created. It can be repeated at any point.
func (d *demo) prepare(ctx context.Context) (sample, error) {
	s, err := readSample(ctx, d.opts.kubectl, d.opts.dir, d.opts.namespace)
	if err != nil {
		return s, err
	}
	cortex, err := d.modelObjects(ctx)
	if err != nil {
		return s, err
	}
	if err := d.apply(ctx, namespaceObject(d.opts.namespace)); err != nil {
		return s, err
	}
	if err := d.removeRun(ctx, s.run.GetName()); err != nil {
		return s, err
	}
	if d.opts.model.key == "" {
		// The key of an earlier demo has no use any more.
		err := d.c.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(d.opts.namespace), client.MatchingLabels{v1alpha1.LabelManagedBy: fieldManager})
		if err != nil {
			return s, fmt.Errorf("remove the key of an earlier demo: %w", err)
		}
	}
	for _, o := range append(cortex, s.before...) {
		if err := d.apply(ctx, o); err != nil {
			return s, err
		}
	}
	return s, nil
}

// modelObjects are the MotorCortex and the Secret that make the namespace's runs use the model.
func (d *demo) modelObjects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	m := d.opts.model
	if m.scripted() {
		objects, err := kustomize(ctx, d.opts.kubectl, filepath.Join(d.opts.dir, scriptedDir))
		for _, o := range objects {
			o.SetNamespace(d.opts.namespace)
		}
		return objects, err
	}
	endpoint := map[string]any{"model": m.name, "baseURL": m.baseURL}
	cortex := object(v1alpha1.GroupVersion.String(), "MotorCortex", d.opts.namespace, v1alpha1.CortexName, map[string]any{
		"spec": map[string]any{"models": map[string]any{"default": endpoint}},
	})
	if m.key == "" {
		return []*unstructured.Unstructured{cortex}, nil
	}
	endpoint["apiKeySecretRef"] = map[string]any{"name": secretName, "key": secretKey}
	secret := object("v1", "Secret", d.opts.namespace, secretName, map[string]any{
		"data": map[string]any{secretKey: base64.StdEncoding.EncodeToString([]byte(m.key))},
	})
	secret.SetLabels(map[string]string{v1alpha1.LabelManagedBy: fieldManager})
	return []*unstructured.Unstructured{secret, cortex}, nil
}

func namespaceObject(name string) *unstructured.Unstructured {
	o := object("v1", "Namespace", "", name, map[string]any{})
	o.SetLabels(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	return o
}

func object(apiVersion, kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: content}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// apply is kubectl apply --server-side --force-conflicts.
func (d *demo) apply(ctx context.Context, o *unstructured.Unstructured) error {
	err := d.c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(fieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// removeRun deletes an earlier run of that name, wherever it stands, and waits until it and all that belongs to it is
// gone: steps of the old run would stand in the way of the new one's.
func (d *demo) removeRun(ctx context.Context, name string) error {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: d.opts.namespace, Name: name}}
	key := client.ObjectKeyFromObject(run)
	if err := d.c.Get(ctx, key, run); err != nil {
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case meta.IsNoMatchError(err):
			return errors.New("the cluster has no MotorRuns: install the operator first (make demo does)")
		}
		return fmt.Errorf("look for an earlier run: %w", err)
	}
	d.print.linef("removing the earlier run %s", name)
	if err := d.c.Delete(ctx, run, client.PropagationPolicy(metav1.DeletePropagationForeground)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the earlier run: %w", err)
	}
	if err := awaitGone(ctx, d.c, &v1alpha1.MotorRunList{}, key); err != nil {
		return fmt.Errorf("wait until the earlier run %s is gone: %w", name, err)
	}
	return nil
}
