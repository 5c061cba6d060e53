// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	keySecretName = "motorcortex-manager-key"
	keySecretKey  = "key.pem"
)

// managerKey returns the key that all replicas present to the tool servers. The first replica creates it, and the others read it.
func managerKey(ctx context.Context, mgr ctrl.Manager, namespace string) (*ecdsa.PrivateKey, error) {
	name := client.ObjectKey{Namespace: namespace, Name: keySecretName}
	var s corev1.Secret
	err := mgr.GetAPIReader().Get(ctx, name, &s)
	if apierrors.IsNotFound(err) {
		if err = createKey(ctx, mgr.GetClient(), name); err == nil || apierrors.IsAlreadyExists(err) {
			err = mgr.GetAPIReader().Get(ctx, name, &s)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("get the manager's key: %w", err)
	}
	return parseKey(s.Data[keySecretKey])
}

func createKey(ctx context.Context, c client.Client, name client.ObjectKey) error {
	key, err := toolclient.GenerateKey()
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return c.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{keySecretKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})},
	})
}

func parseKey(data []byte) (*ecdsa.PrivateKey, error) {
	const help = "delete the Secret " + keySecretName + " and restart the manager; sandboxes that run now are lost with it"
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("the manager's key is no PEM: " + help)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the manager's key cannot be read (%w): %s", err, help)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the manager's key is no ECDSA key: " + help)
	}
	return key, nil
}
