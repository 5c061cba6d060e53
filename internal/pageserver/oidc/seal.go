// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

const (
	// minKey and maxKey are the fewest and the most bytes of a key file.
	minKey, maxKey = 32, 4096
	// maxKeys is the most key files.
	maxKeys = 8
	// maxSealed is the most bytes of a cookie's value: browsers drop cookies with over 4096 bytes with their names.
	maxSealed = 3900
)

// errSeal is why a cookie is not believed.
var errSeal = errors.New("the cookie is not of this server")

// seals encrypts and authenticates what a browser keeps. The first key seals, and each of them opens, so a key is replaced without an end of sessions.
// The files are read each time: a Secret that changes is in effect at once.
type seals struct {
	files []string
	// purpose tells kinds of cookies apart: one that was sealed for another purpose opens with no key of this one.
	purpose string
}

// ring returns the keys of the purpose.
func (s seals) ring() ([]cipher.AEAD, error) {
	ring := make([]cipher.AEAD, 0, len(s.files))
	for _, file := range s.files {
		secret, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the key of sessions: %w", err)
		}
		if secret = bytes.TrimSpace(secret); len(secret) < minKey || len(secret) > maxKey {
			return nil, fmt.Errorf("the key of sessions in %s has %d bytes: %d to %d random ones are needed", file, len(secret), minKey, maxKey)
		}
		key, err := hkdf.Key(sha256.New, secret, nil, "motorcortex page "+s.purpose, 32)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		ring = append(ring, aead)
	}
	return ring, nil
}

// seal returns the value as the text of a cookie.
func (s seals) seal(v any) (string, error) {
	ring, err := s.ring()
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(ring[0].Seal(nil, nil, plain, nil))
	if len(text) > maxSealed {
		return "", fmt.Errorf("%d bytes are too many for a cookie, which has at most %d", len(text), maxSealed)
	}
	return text, nil
}

// open reads the text of a cookie. Its error is errSeal unless the keys cannot be read.
func (s seals) open(text string, into any) error {
	if len(text) > maxSealed {
		return errSeal
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return errSeal
	}
	ring, err := s.ring()
	if err != nil {
		return err
	}
	for _, key := range ring {
		if plain, err := key.Open(nil, nil, sealed, nil); err == nil {
			return json.Unmarshal(plain, into)
		}
	}
	return errSeal
}
