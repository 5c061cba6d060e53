// SPDX-License-Identifier: Apache-2.0

// Package inputs checks the input files of a run: whether they exist, and whether its requester may read them.
package inputs

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/credential"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Check looks whether the ConfigMaps and artifacts of spec.files are there, and are not too much together; bucket reports whether
// the manager has one. The error is a *cortex.Problem if one is not, or if they are.
func Check(ctx context.Context, reader client.Reader, run *v1alpha1.MotorRun, bucket bool) error {
	var fromBucket int64
	for i := range run.Spec.Files {
		problem, err := "", error(nil)
		switch f := &run.Spec.Files[i]; {
		case f.ConfigMapKeyRef != nil:
			problem, err = checkConfigMap(ctx, reader, run.Namespace, f.ConfigMapKeyRef)
		case f.ArtifactRef != nil:
			var size int64
			size, problem, err = checkArtifact(ctx, reader, run.Namespace, f.ArtifactRef, bucket)
			fromBucket += size
		}
		if err != nil {
			return err
		}
		if problem != "" {
			return &cortex.Problem{Reason: v1alpha1.ReasonInputFileNotFound, Message: fmt.Sprintf("spec.files[%d]: %s.", i, problem)}
		}
	}
	if fromBucket <= fit.MaxBucketBytes {
		return nil
	}
	const mib = 1 << 20
	return &cortex.Problem{Reason: v1alpha1.ReasonInputFileNotFound, Message: fmt.Sprintf(
		"spec.files have %d MiB from the bucket, and a run is given %d MiB at most: give fewer, or split the run.",
		(fromBucket+mib-1)/mib, fit.MaxBucketBytes/mib)}
}

// Review returns a *cortex.Problem unless the creator of the run may themselves get the source of each file: a ConfigMap, or that of an artifact.
// An artifact in the bucket has no object, so the right to get its run counts. Review runs before any message reveals whether an object exists.
func Review(ctx context.Context, reviews credential.Reviewer, live client.Reader, run *v1alpha1.MotorRun, bucket bool) error {
	asked := map[authorizationv1.ResourceAttributes]bool{}
	for i := range run.Spec.Files {
		right, err := rightToFile(ctx, live, run, &run.Spec.Files[i], bucket)
		if err != nil {
			return err
		}
		if right == nil || asked[*right] {
			continue
		}
		asked[*right] = true
		if run.Spec.Requester == nil {
			return &cortex.Problem{Reason: v1alpha1.ReasonInputFileForbidden, Message: fmt.Sprintf(
				"spec.files[%d]: the run does not say who created it, so it is given no ConfigMap and no artifact. Create it again with your name in spec.requester.username.", i)}
		}
		may, err := credential.May(ctx, reviews, run, *right)
		if err != nil {
			return err
		}
		if !may {
			return &cortex.Problem{Reason: v1alpha1.ReasonInputFileForbidden, Message: fmt.Sprintf(
				"spec.files[%d]: %s, who created the run, may not get the %s %s in namespace %s, so neither may the run. Give them the verb get on it.",
				i, run.Spec.Requester.Username, right.Resource, right.Name, run.Namespace)}
		}
	}
	return nil
}

// rightToFile returns the right that the requester needs for a file, nil for none.
func rightToFile(
	ctx context.Context, live client.Reader, run *v1alpha1.MotorRun, f *v1alpha1.InputFile, bucket bool,
) (*authorizationv1.ResourceAttributes, error) {
	switch {
	case f.ConfigMapKeyRef != nil:
		return &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "configmaps", Name: f.ConfigMapKeyRef.Name}, nil
	case f.ArtifactRef == nil:
		return nil, nil
	}
	of := &authorizationv1.ResourceAttributes{
		Verb: "get", Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "motorruns", Name: f.ArtifactRef.RunName,
	}
	if !canExist(f.ArtifactRef.RunName) {
		return of, nil
	}
	var from v1alpha1.MotorRun
	err := live.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: f.ArtifactRef.RunName}, &from)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get MotorRun %s: %w", f.ArtifactRef.RunName, err)
	}
	if a, _ := fit.ArtifactInput(&from, f.ArtifactRef.Path, bucket); err == nil && a != nil && a.ConfigMapName != "" {
		return &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "configmaps", Name: a.ConfigMapName}, nil
	}
	return of, nil
}

// canExist reports whether an object can have that name. A client has no other name even asked for, and its error would be one of every pass.
func canExist(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

func checkConfigMap(ctx context.Context, reader client.Reader, namespace string, ref *v1alpha1.ConfigMapKeyRef) (problem string, err error) {
	if !canExist(ref.Name) {
		return fmt.Sprintf("no ConfigMap can have the name %q. Create the run again, with another", ref.Name), nil
	}
	var cm corev1.ConfigMap
	err = reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &cm)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("the ConfigMap %s does not exist in namespace %s. Create it", ref.Name, namespace), nil
	}
	if err != nil {
		return "", fmt.Errorf("get ConfigMap %s: %w", ref.Name, err)
	}
	text, isText := cm.Data[ref.Key]
	binary, isBinary := cm.BinaryData[ref.Key]
	if !isText && !isBinary {
		return fmt.Sprintf("the ConfigMap %s in namespace %s has no key %s. Add it", ref.Name, namespace, ref.Key), nil
	}
	if ref.Digest == "" {
		return "", nil
	}
	if isText {
		binary = []byte(text)
	}
	if got := "sha256:" + toolapi.SHA256(binary); got != ref.Digest {
		return fmt.Sprintf("the key %s of the ConfigMap %s in namespace %s has the content with the digest %s, and not the one that the run means (%s). "+
			"Put that back, or create the run again", ref.Key, ref.Name, namespace, got, ref.Digest), nil
	}
	return "", nil
}

// checkArtifact returns how many bytes the artifact has in the bucket too, 0 if it is elsewhere.
func checkArtifact(
	ctx context.Context, reader client.Reader, namespace string, ref *v1alpha1.ArtifactRef, bucket bool,
) (fromBucket int64, problem string, err error) {
	if !canExist(ref.RunName) {
		return 0, fmt.Sprintf("no MotorRun can have the name %q. Create the run again, with another", ref.RunName), nil
	}
	var from v1alpha1.MotorRun
	err = reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.RunName}, &from)
	if apierrors.IsNotFound(err) {
		return 0, fmt.Sprintf("there is no MotorRun %s in namespace %s. It may have been deleted when it had been finished for its "+
			"ttlSecondsAfterFinished: its artifacts go with it", ref.RunName, namespace), nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("get MotorRun %s: %w", ref.RunName, err)
	}
	a, problem := fit.ArtifactInput(&from, ref.Path, bucket)
	if problem != "" {
		return 0, problem, nil
	}
	if got := "sha256:" + a.SHA256; ref.Digest != "" && got != ref.Digest {
		return 0, fmt.Sprintf("the artifact %q of the MotorRun %s has the digest %s, and not the one that the run means (%s). Create the run again, "+
			"with the digest of what it is to be given", ref.Path, ref.RunName, got, ref.Digest), nil
	}
	if a.ConfigMapName != "" {
		return 0, "", nil
	}
	return a.Size, "", nil
}
