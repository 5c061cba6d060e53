// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// nameSuffix is the suffix by which admission policies recognize sandboxes.
	nameSuffix = "-motor-sandbox"
	// namePrefix is the number of characters of a run's name in that of a further Pod: a host name has at most 63 characters.
	namePrefix = 40
)

// PodName returns the name of the sandbox Pod that an attempt of a run begins with, if it needs another one than the attempt before. Each has a
// name of its own: the Pod of a node that is down holds its name until the Node is deleted.
func PodName(run *v1alpha1.MotorRun, attempt int32) string {
	if attempt == 1 {
		return run.Name + nameSuffix
	}
	// By the UID, because another run can have any name that is made of this one's.
	sum := sha256.Sum256([]byte(string(run.UID) + "/" + strconv.Itoa(int(attempt))))
	return strings.TrimRight(run.Name[:min(len(run.Name), namePrefix)], "-.") + "-" + hex.EncodeToString(sum[:4]) + nameSuffix
}

// currentAttempt returns the number of the current attempt. Before there is one, it is that of the first.
func currentAttempt(run *v1alpha1.MotorRun) int32 {
	if a := run.Status.LatestAttempt(); a != nil {
		return a.Index
	}
	return 1
}

// CurrentPodName returns the name of the Pod that the run has, or is to get.
func CurrentPodName(run *v1alpha1.MotorRun) string {
	if sb := run.Status.Sandbox; sb != nil && sb.CreationTime != nil {
		return sb.PodName
	}
	return PodName(run, currentAttempt(run))
}
