package smb2

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/rc4"
	"fmt"
	"strings"
	"time"

	//lint:ignore SA1019 NTLM has nothing else
	"golang.org/x/crypto/md4"
)

// ntlmFlags are the negotiate flags of each NTLM message ([MS-NLMP], section 2.2.2.5).
const ntlmFlags = 1<<0 | // NTLMSSP_NEGOTIATE_UNICODE
	1<<2 | // NTLMSSP_REQUEST_TARGET
	1<<4 | // NTLMSSP_NEGOTIATE_SIGN
	1<<9 | // NTLMSSP_NEGOTIATE_NTLM
	1<<15 | // NTLMSSP_NEGOTIATE_ALWAYS_SIGN
	1<<19 | // NTLMSSP_NEGOTIATE_EXTENDED_SESSIONSECURITY
	1<<23 | // NTLMSSP_NEGOTIATE_TARGET_INFO
	1<<29 | // NTLMSSP_NEGOTIATE_128
	1<<30 | // NTLMSSP_NEGOTIATE_KEY_EXCH
	1<<31 // NTLMSSP_NEGOTIATE_56

// NTLM message types ([MS-NLMP], section 2.2.1).
const (
	ntlmNegotiate    = 1 // NEGOTIATE_MESSAGE
	ntlmChallenge    = 2 // CHALLENGE_MESSAGE
	ntlmAuthenticate = 3 // AUTHENTICATE_MESSAGE
)

const ntlmSignature = "NTLMSSP\x00"

// AvIds of the AV_PAIRs in TargetInfo ([MS-NLMP], section 2.2.2.1).
const (
	avEOL            = 0 // MsvAvEOL
	avNbComputerName = 1 // MsvAvNbComputerName
	avFlags          = 6 // MsvAvFlags
	avTimestamp      = 7 // MsvAvTimestamp
)

// avFlagMIC is the value of MsvAvFlags for a message with a MIC.
const avFlagMIC = 2

// Offsets in an AUTHENTICATE_MESSAGE, in bytes ([MS-NLMP], section 2.2.1.3).
const (
	micOffset     = 72
	payloadOffset = 88
)

// maxNTLM limits the size of a CHALLENGE_MESSAGE, in bytes.
const maxNTLM = 16 << 10

// An Account is the user to log in as, and the password.
type Account struct{ Domain, User, Password string }

// NTLMNegotiate returns a NEGOTIATE_MESSAGE, the first message of a login.
func NTLMNegotiate() []byte {
	b := append([]byte(ntlmSignature), ntlmNegotiate, 0, 0, 0)
	b = le.AppendUint32(b, ntlmFlags)
	return append(b, make([]byte, 16)...) // empty DomainName and Workstation
}

// NTLMAuthenticate returns the AUTHENTICATE_MESSAGE for a CHALLENGE_MESSAGE, and the session key. The
// message has a MIC if the challenge has a timestamp ([MS-NLMP], section 3.1.5.1.2).
func NTLMAuthenticate(negotiate, challenge []byte, a Account) (msg, key []byte, err error) {
	if len(challenge) < 48 || len(challenge) > maxNTLM || le.Uint32(challenge[8:]) != ntlmChallenge {
		return nil, nil, fmt.Errorf("%w: not an NTLM challenge", ErrMalformed)
	}
	info, err := field(challenge, 40)
	if err != nil {
		return nil, nil, err
	}
	pairs, timestamp, err := avPairs(info)
	if err != nil {
		return nil, nil, err
	}
	hasTimestamp := timestamp != nil
	if !hasTimestamp {
		timestamp = le.AppendUint64(nil, FileTime(time.Now()))
	} else {
		pairs = append(pairs, avFlags, 0, 4, 0, avFlagMIC, 0, 0, 0)
	}
	pairs = append(pairs, avEOL, 0, 0, 0)
	random := make([]byte, 24)
	rand.Read(random)
	clientChallenge, key := random[:8], random[8:]

	responseKey := ntowfv2(a)
	temp := append([]byte{1, 1, 0, 0, 0, 0, 0, 0}, timestamp...)
	temp = append(append(temp, clientChallenge...), 0, 0, 0, 0)
	temp = append(append(temp, pairs...), 0, 0, 0, 0)
	proof := mac(responseKey, challenge[24:32], temp)
	lm := make([]byte, 24)
	if !hasTimestamp {
		lm = append(mac(responseKey, challenge[24:32], clientChallenge), clientChallenge...)
	}
	encryptedKey := make([]byte, 16)
	c, err := rc4.NewCipher(mac(responseKey, proof))
	if err != nil {
		return nil, nil, err
	}
	c.XORKeyStream(encryptedKey, key)

	msg = append([]byte(ntlmSignature), ntlmAuthenticate, 0, 0, 0)
	var payload []byte
	for _, f := range [][]byte{lm, append(proof, temp...), UTF16(a.Domain), UTF16(a.User),
		UTF16("URLGET"), encryptedKey} {
		msg = le.AppendUint16(msg, uint16(len(f)))
		msg = le.AppendUint16(msg, uint16(len(f)))
		msg = le.AppendUint32(msg, uint32(payloadOffset+len(payload)))
		payload = append(payload, f...)
	}
	msg = le.AppendUint32(msg, ntlmFlags)
	msg = append(msg, 6, 1, 0, 0, 0, 0, 0, 15) // Version, for debugging only
	msg = append(msg, make([]byte, 16)...)
	msg = append(msg, payload...)
	if hasTimestamp {
		copy(msg[micOffset:payloadOffset], mac(key, negotiate, challenge, msg))
	}
	return msg, key, nil
}

// NTLMChallenge returns a CHALLENGE_MESSAGE with a nonce of 8 bytes, for test servers.
func NTLMChallenge(nonce []byte, name string, now time.Time) []byte {
	target := UTF16(name)
	info := le.AppendUint16([]byte{avNbComputerName, 0}, uint16(len(target)))
	info = append(info, target...)
	if !now.IsZero() {
		info = le.AppendUint64(append(info, avTimestamp, 0, 8, 0), FileTime(now))
	}
	info = append(info, avEOL, 0, 0, 0)
	b := append([]byte(ntlmSignature), ntlmChallenge, 0, 0, 0)
	at := uint32(56)
	for _, f := range [][]byte{target} {
		b = le.AppendUint16(b, uint16(len(f)))
		b = le.AppendUint16(b, uint16(len(f)))
		b = le.AppendUint32(b, at)
		at += uint32(len(f))
	}
	b = le.AppendUint32(b, ntlmFlags)
	b = append(b, nonce...)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint16(b, uint16(len(info)))
	b = le.AppendUint16(b, uint16(len(info)))
	b = le.AppendUint32(b, at)
	b = append(b, make([]byte, 8)...)
	return append(append(b, target...), info...)
}

// NTLMVerify verifies the AUTHENTICATE_MESSAGE msg for a challenge, for test servers. It returns the
// user and the session key. It returns false if msg was not made with the password that the
// password function returns.
func NTLMVerify(msg, challenge []byte,
	password func(domain, user string) (string, bool)) (user string, key []byte, ok bool) {
	if len(msg) < payloadOffset || le.Uint32(msg[8:]) != ntlmAuthenticate {
		return "", nil, false
	}
	var fields [6][]byte
	for i := range fields {
		var err error
		if fields[i], err = field(msg, 12+8*i); err != nil {
			return "", nil, false
		}
	}
	a := Account{Domain: Name(fields[2]), User: Name(fields[3])}
	found := false
	if a.Password, found = password(a.Domain, a.User); !found || len(fields[1]) < 16 || len(fields[5]) != 16 {
		return a.User, nil, false
	}
	responseKey := ntowfv2(a)
	proof := mac(responseKey, challenge[24:32], fields[1][16:])
	c, err := rc4.NewCipher(mac(responseKey, proof))
	if err != nil || !hmac.Equal(proof, fields[1][:16]) {
		return a.User, nil, false
	}
	key = make([]byte, 16)
	c.XORKeyStream(key, fields[5])
	return a.User, key, true
}

// field returns the payload whose length and offset are at position at in msg.
func field(msg []byte, at int) ([]byte, error) {
	n, offset := le.Uint16(msg[at:]), le.Uint32(msg[at+4:])
	if uint64(offset)+uint64(n) > uint64(len(msg)) {
		return nil, fmt.Errorf("%w: NTLM field outside of the message", ErrMalformed)
	}
	return msg[offset:][:n], nil
}

// avPairs returns the AV_PAIRs of a TargetInfo without MsvAvEOL and MsvAvFlags. Timestamp is
// the value of MsvAvTimestamp, or nil if it is missing.
func avPairs(info []byte) (pairs, timestamp []byte, err error) {
	for {
		if len(info) < 4 {
			return pairs, timestamp, nil
		}
		id, n := le.Uint16(info), int(le.Uint16(info[2:]))
		if id == avEOL {
			return pairs, timestamp, nil
		}
		if len(info) < 4+n || id == avTimestamp && n != 8 {
			return nil, nil, fmt.Errorf("%w: invalid NTLM target information", ErrMalformed)
		}
		if id == avTimestamp {
			timestamp = bytes.Clone(info[4 : 4+n])
		}
		if id != avFlags {
			pairs = append(pairs, info[:4+n]...)
		}
		info = info[4+n:]
	}
}

// ntowfv2 returns NTOWFv2, the response key for an account ([MS-NLMP], section 3.3.2).
func ntowfv2(a Account) []byte {
	h := md4.New()
	h.Write(UTF16(a.Password))
	return mac(h.Sum(nil), UTF16(strings.ToUpper(a.User)+a.Domain))
}

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(md5.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// The object identifiers of SPNEGO and NTLM, in DER.
var (
	oidSPNEGO = []byte{0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02}
	oidNTLM   = []byte{0x06, 0x0a, 0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a}
)

// FirstToken wraps the first message of a login in a NegTokenInit (RFC 4178, section 4.2.1).
func FirstToken(msg []byte) []byte {
	return der(0x60, oidSPNEGO, der(0xa0,
		der(0x30, der(0xa0, der(0x30, oidNTLM)), der(0xa2, der(0x04, msg)))))
}

// LastToken wraps the last message of a login in a NegTokenResp. The mechListMIC is computed with the
// session key (RFC 4178, sections 4.2.2 and 5).
func LastToken(msg, key []byte) []byte {
	const magic = "session key to client-to-server "
	sign := md5.Sum(append(bytes.Clone(key), magic+"signing key magic constant\x00"...))
	seal := md5.Sum(append(bytes.Clone(key), magic+"sealing key magic constant\x00"...))
	checksum := mac(sign[:], make([]byte, 4), der(0x30, oidNTLM))[:8]
	if c, err := rc4.NewCipher(seal[:]); err == nil {
		c.XORKeyStream(checksum, checksum)
	}
	mic := append(append([]byte{1, 0, 0, 0}, checksum...), 0, 0, 0, 0) // [MS-NLMP], section 2.2.2.9
	return der(0xa1, der(0x30, der(0xa2, der(0x04, msg)), der(0xa3, der(0x04, mic))))
}

// ServerToken wraps a message of a server in a NegTokenResp. A nil msg means accept-completed.
func ServerToken(msg []byte) []byte {
	if msg == nil {
		return der(0xa1, der(0x30, der(0xa0, der(0x0a, []byte{0}))))
	}
	return der(0xa1, der(0x30, der(0xa0, der(0x0a, []byte{1})), der(0xa1, oidNTLM),
		der(0xa2, der(0x04, msg))))
}

// NTLMToken returns the NTLM message in a token. If its length is unclear, the result includes the
// data after it, which is harmless: NTLM messages locate their payload by offsets.
func NTLMToken(token []byte) ([]byte, error) {
	at := bytes.Index(token, []byte(ntlmSignature))
	if at < 0 || len(token)-at < 12 {
		return nil, fmt.Errorf("%w: no NTLM message in the security token", ErrMalformed)
	}
	if n, ok := derLength(token[:at]); ok && n <= len(token)-at {
		return token[at : at+n], nil
	}
	return token[at:], nil
}

// derLength returns the length of an OCTET STRING whose tag and length are at the end of b.
func derLength(b []byte) (int, bool) {
	n := len(b)
	switch {
	case n >= 2 && b[n-2] == 0x04 && b[n-1] < 0x80:
		return int(b[n-1]), true
	case n >= 3 && b[n-3] == 0x04 && b[n-2] == 0x81:
		return int(b[n-1]), true
	case n >= 4 && b[n-4] == 0x04 && b[n-3] == 0x82:
		return int(b[n-2])<<8 | int(b[n-1]), true
	}
	return 0, false
}

// der encodes a DER value with a content of less than 64 KiB.
func der(tag byte, content ...[]byte) []byte {
	all := bytes.Join(content, nil)
	b := []byte{tag}
	switch n := len(all); {
	case n < 0x80:
		b = append(b, byte(n))
	case n < 0x100:
		b = append(b, 0x81, byte(n))
	default:
		b = append(b, 0x82, byte(n>>8), byte(n))
	}
	return append(b, all...)
}
