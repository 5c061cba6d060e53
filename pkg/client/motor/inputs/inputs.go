// SPDX-License-Identifier: Apache-2.0

// Package inputs creates runs whose large files are beside them. Each write of a run's status stores the whole run again, and every watch of runs is sent
// it, once a second while a run works. So the contents of large files are in a ConfigMap of the run, and the run refers to them by digest.
package inputs

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// InlineBytes is how many bytes of contents a run keeps in itself: about twice of what it has else.
	InlineBytes = 16 << 10
	// maxBytes is the most that a ConfigMap takes.
	maxBytes = 1 << 20
)

// ConfigMaps are those of the namespace of the run, with the rights of the account that creates it.
type ConfigMaps interface {
	Create(ctx context.Context, cm *corev1.ConfigMap) error
	// Read reads one, so that it is known whether the account may: the operator gives a run nothing that its creator may not read.
	Read(ctx context.Context, name string) error
	// Own makes a run the owner of one, which is then deleted with the run.
	Own(ctx context.Context, name string, owner metav1.OwnerReference) error
	Delete(ctx context.Context, name string) error
}

// CreateRun creates a run. answered reports whether the API server refused it: without an answer, the run may have been created.
type CreateRun func(ctx context.Context, run *v1alpha1.MotorRun) (created *v1alpha1.MotorRun, answered bool, err error)

// Created is a run that was created.
type Created struct {
	Run *v1alpha1.MotorRun
	// ConfigMap is the name of the one with the contents of large files, "" for a run that has all of its files in itself.
	ConfigMap string
	// Unowned is why that ConfigMap stays when the run is deleted, nil if it is the run's.
	Unowned error
}

// Create creates a run, with the contents of its large files in a ConfigMap. Where the account may not make one, or the API server does not take a run with
// one, the files are in the run as they were given.
func Create(ctx context.Context, maps ConfigMaps, run *v1alpha1.MotorRun, create CreateRun) (created Created, answered bool, err error) {
	cm := beside(run)
	if cm == nil || !place(ctx, maps, cm) {
		created.Run, answered, err = create(ctx, run)
		return created, answered, err
	}
	created.Run, answered, err = create(ctx, referring(run, cm))
	switch {
	case err != nil && !answered:
		// The run may be there, and need it.
		return created, answered, err
	case err != nil:
		_ = maps.Delete(ctx, cm.Name) // The second try matters more. A ConfigMap without an owner has a label by which it is found.
		created.Run, answered, err = create(ctx, run)
		return created, answered, err
	}
	created.ConfigMap = cm.Name
	created.Unowned = maps.Own(ctx, cm.Name, metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: created.Run.Name, UID: created.Run.UID,
	})
	return created, true, nil
}

// place makes the ConfigMap, and reports whether the account may read it.
func place(ctx context.Context, maps ConfigMaps, cm *corev1.ConfigMap) bool {
	if maps.Create(ctx, cm) != nil {
		return false
	}
	if maps.Read(ctx, cm.Name) != nil {
		_ = maps.Delete(ctx, cm.Name) // It has a label by which it is found.
		return false
	}
	return true
}

// beside returns the ConfigMap for the largest contents of a run's files, so that those that stay have InlineBytes together. It is nil if all can stay, or
// if a ConfigMap does not take them.
func beside(run *v1alpha1.MotorRun) *corev1.ConfigMap {
	files := run.Spec.Files
	size := func(i int) int {
		if files[i].Content == nil || !utf8.ValidString(*files[i].Content) {
			return 0
		}
		return len(*files[i].Content)
	}
	order, stays, moved := make([]int, len(files)), 0, 0
	for i := range files {
		order[i] = i
		stays += size(i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	data := map[string]string{}
	for _, i := range order {
		if stays <= InlineBytes {
			break
		}
		data[key(i)] = *files[i].Content
		stays -= size(i)
		moved += size(i)
	}
	if len(data) == 0 || moved > maxBytes {
		return nil
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: run.Namespace, Name: "motor-inputs-" + strings.ToLower(rand.Text()), Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentInputs},
		},
		Data: data, Immutable: new(true),
	}
}

// key is that of the content of the file with the index.
func key(i int) string { return fmt.Sprintf("file-%d", i) }

// referring returns the run with references in the place of what the ConfigMap has.
func referring(run *v1alpha1.MotorRun, cm *corev1.ConfigMap) *v1alpha1.MotorRun {
	run = run.DeepCopy()
	for i := range run.Spec.Files {
		content, moved := cm.Data[key(i)]
		if !moved {
			continue
		}
		sum := sha256.Sum256([]byte(content))
		run.Spec.Files[i].Content = nil
		run.Spec.Files[i].ConfigMapKeyRef = &v1alpha1.ConfigMapKeyRef{Name: cm.Name, Key: key(i), Digest: "sha256:" + hex.EncodeToString(sum[:])}
	}
	return run
}
