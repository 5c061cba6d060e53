// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"bytes"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

// MaxLength bounds a value, in bytes: no server accepts a longer header.
const MaxLength = 8 << 10

// valueOf returns the value that a Secret has for a credential.
func valueOf(object *corev1.Secret, c *v1alpha1.Credential) (secret.Value, error) {
	data, ok := object.Data[c.SecretRef.Key]
	if !ok {
		return secret.Value{}, problem(v1alpha1.ReasonCredentialSecretNotFound, c,
			"the Secret %s in namespace %s has no key %s. Add it.", object.Name, object.Namespace, c.SecretRef.Key)
	}
	value, what := Check(data, c)
	if what != "" {
		return secret.Value{}, problem(v1alpha1.ReasonCredentialInvalid, c,
			"the value under the key %s of the Secret %s %s.", c.SecretRef.Key, object.Name, what)
	}
	return secret.New(value), nil
}

// Check returns the value that a run gets of what a Secret has under a key, and what is wrong with it for such a credential, "" if nothing is. The
// text reveals nothing of the value, and goes on as a sentence that begins with "the value".
func Check(data []byte, c *v1alpha1.Credential) (value []byte, what string) {
	value = trim(data)
	return value, defect(value, c)
}

// trim cuts the one newline that an editor or echo adds. A value of several lines, such as a private key, stays as it is: it is invalid without its
// last newline.
func trim(data []byte) []byte {
	line, ok := bytes.CutSuffix(data, []byte("\n"))
	if !ok || bytes.ContainsRune(line, '\n') {
		return data
	}
	return bytes.TrimSuffix(line, []byte("\r"))
}

// defect returns what is wrong with a value, "" if nothing is. The text reveals nothing of the value.
func defect(value []byte, c *v1alpha1.Credential) string {
	switch {
	case len(value) < redact.MinLength:
		return "is too short: what has fewer than 8 bytes cannot be told from ordinary text where it must not be shown"
	case len(value) > MaxLength:
		return "is too long: a credential has at most 8 KiB"
	case c.ExposeToSandbox:
		if slices.ContainsFunc(value, func(b byte) bool { return isControl(b) && !strings.ContainsRune("\t\r\n", rune(b)) }) {
			return "has control characters, which no environment variable should carry"
		}
		return ""
	case slices.ContainsFunc(value, isControl):
		return "has control characters or several lines, which no request can carry"
	case c.Slot.Type == v1alpha1.SlotBasic:
		if !bytes.Contains(value, []byte(":")) {
			return "has no colon: for the slot Basic it is user:password"
		}
		if !slices.ContainsFunc(redact.Parts(redact.SlotBasic, value)[1:], func(part []byte) bool { return len(part) >= redact.MinLength }) {
			return "has neither a password nor a key for a user that is long enough: what has fewer than 8 bytes cannot be told " +
				"from ordinary text where it must not be shown"
		}
	case c.Slot.Type != v1alpha1.SlotQuery && len(bytes.Trim(value, " ")) != len(value):
		return "begins or ends with a space, which no header can carry"
	}
	return ""
}

func isControl(b byte) bool { return b < 0x20 || b == 0x7f }
