package sftp

import (
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// checkFileNames are the names of the extension that computes a digest of an open file: that of
// draft-ietf-secsh-filexfer-extensions-00, section 3, and that of servers based on Paramiko.
var checkFileNames = []string{"check-file-handle", "check-file"}

// checkFileAlgorithms lists the accepted algorithms, preferred ones first.
const checkFileAlgorithms = "sha256,sha512,sha384,sha224,sha1,md5"

// A refusal is not an error: servers without the extension refuse it.
func (f *flight) digest(handle string) ([]fetch.Digest, error) {
	for _, name := range checkFileNames {
		f.trace(true, "EXTENDED "+name)
		// The range and the size of a block are 0, so one hash covers all of the file.
		resp, err := f.wait(f.send(filexfer.TypeExtended, name, handle, checkFileAlgorithms,
			uint64(0), uint64(0), uint32(0)))
		if err != nil {
			return nil, err
		}
		typ := resp.Type
		d, ok := parseCheckFile(resp.Fields())
		resp.release()
		switch typ {
		case filexfer.TypeExtendedReply:
			if !ok {
				return nil, nil
			}
			return []fetch.Digest{d}, nil
		case filexfer.TypeStatus: // unsupported under this name, or refused
		default:
			return nil, fetch.ErrProtocol.Errorf("unexpected response to %v: %v", filexfer.TypeExtended, typ)
		}
	}
	return nil, nil
}

// parseCheckFile reads the algorithm and the hash. Some servers send the name of the extension first.
func parseCheckFile(fields *filexfer.Fields) (fetch.Digest, bool) {
	algorithm := fields.Text()
	if algorithm == "check-file" {
		algorithm = fields.Text()
	}
	algorithm = fetch.CanonicalAlgorithm(algorithm)
	sum, h := fields.Rest(), fetch.NewHash(algorithm)
	if fields.Err() != nil || h == nil || len(sum) != h.Size() {
		return fetch.Digest{}, false
	}
	return fetch.Digest{Algorithm: algorithm, Sum: append([]byte(nil), sum...), By: "check-file"}, true
}
