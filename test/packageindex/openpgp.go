// SPDX-License-Identifier: Apache-2.0

package packageindex

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// What is used of OpenPGP (RFC 4880, and RFC 9580 for Ed25519): packets by their tags, kinds of signatures, parts of
// signatures, and algorithms.
const (
	tagSignature, tagPublicKey, tagUserID      = 2, 6, 13
	signsText, signsUserID                     = 0x01, 0x13
	partMade, partKeyID, partFlags, partIssuer = 2, 16, 27, 33
	algorithmEdDSA, algorithmSHA512            = 22, 10

	// maySign is the flag of a key that certifies itself and signs data.
	maySign = 0x01 | 0x02
	// version of keys and signatures.
	version = 4
	userID  = "packageindex"
)

// curve is the object identifier of Ed25519 with its length before it.
var curve = []byte{9, 0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01}

// signer signs as apt wants it, with a key that lives as long as the process.
type signer struct {
	key  ed25519.PrivateKey
	made uint32
	// public is the key as a packet has it, fingerprint what it is known by.
	public, fingerprint []byte
}

func newSigner() *signer {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	must(err)
	s := &signer{key: key, made: uint32(time.Now().Unix())}
	s.public = slices.Concat(word([]byte{version}, s.made), []byte{algorithmEdDSA}, curve, number(append([]byte{0x40}, public...)))
	sum := sha1.Sum(s.framed())
	s.fingerprint = sum[:]
	return s
}

// framed is the key as it is signed and hashed.
func (s *signer) framed() []byte { return append(short([]byte{0x99}, len(s.public)), s.public...) }

// publicKey is the armored public key.
func (s *signer) publicKey() string {
	signed := append(s.framed(), word([]byte{0xb4}, uint32(len(userID)))...)
	signature := s.sign(signsUserID, append(signed, userID...), part(partFlags, maySign))
	return armor("PGP PUBLIC KEY BLOCK", slices.Concat(packet(tagPublicKey, s.public), packet(tagUserID, []byte(userID)), signature))
}

// clearSign puts a signature below a text, no line of which begins with a dash or ends with a blank.
func (s *signer) clearSign(text string) string {
	text = strings.TrimSuffix(text, "\n")
	signature := s.sign(signsText, []byte(strings.ReplaceAll(text, "\n", "\r\n")), nil)
	return "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + text + "\n" + armor("PGP SIGNATURE", signature)
}

// sign returns the packet of a signature, which has further parts beside those that it needs.
func (s *signer) sign(kind byte, signed, parts []byte) []byte {
	parts = slices.Concat(part(partMade, word(nil, s.made)...), part(partIssuer, append([]byte{version}, s.fingerprint...)...), parts)
	head := append(short([]byte{version, kind, algorithmEdDSA, algorithmSHA512}, len(parts)), parts...)
	sum := sha512.Sum512(slices.Concat(signed, head, word([]byte{version, 0xff}, uint32(len(head)))))
	value := ed25519.Sign(s.key, sum[:])
	keyID := part(partKeyID, s.fingerprint[len(s.fingerprint)-8:]...)
	return packet(tagSignature, slices.Concat(head, short(nil, len(keyID)), keyID, sum[:2], number(value[:32]), number(value[32:])))
}

func packet(tag byte, body []byte) []byte {
	return append(word([]byte{0xc0 | tag, 0xff}, uint32(len(body))), body...)
}

func part(kind byte, content ...byte) []byte {
	return append([]byte{byte(len(content) + 1), kind}, content...)
}

// number is one of any size: its length in bits, and its bytes from the first that is not 0.
func number(b []byte) []byte {
	for len(b) > 0 && b[0] == 0 {
		b = b[1:]
	}
	length := 0
	if len(b) > 0 {
		length = 8*(len(b)-1) + bits.Len8(b[0])
	}
	return append(short(nil, length), b...)
}

func word(to []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(to, n) }

func short(to []byte, n int) []byte { return binary.BigEndian.AppendUint16(to, uint16(n)) }

func armor(kind string, content []byte) string {
	var lines strings.Builder
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(content)), 64) {
		lines.Write(line)
		lines.WriteByte('\n')
	}
	sum := base64.StdEncoding.EncodeToString(crc24(content))
	return "-----BEGIN " + kind + "-----\n\n" + lines.String() + "=" + sum + "\n-----END " + kind + "-----\n"
}

// crc24 is the checksum of an armor, without which older programs do not read it.
func crc24(content []byte) []byte {
	crc := uint32(0xb704ce)
	for _, b := range content {
		crc ^= uint32(b) << 16
		for range 8 {
			if crc <<= 1; crc&(1<<24) != 0 {
				crc ^= 0x1864cfb
			}
		}
	}
	return []byte{byte(crc >> 16), byte(crc >> 8), byte(crc)}
}
