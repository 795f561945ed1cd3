package s3

import (
	"strings"
	"testing"
)

func FuzzPage(f *testing.F) {
	f.Add(`<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>` +
		`<Contents><Key>a%20b</Key><Size>1</Size><LastModified>2020-02-03T04:05:06.000Z</LastModified></Contents>` +
		`<CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes><EncodingType>url</EncodingType></ListBucketResult>`)
	f.Add(`<?xml version="1.0"?><!DOCTYPE x []><ListBucketResult xmlns="x"/>`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readPage(strings.NewReader(text))
		if err != nil {
			return
		}
		if len(p.members) > maxKeys || len(p.token) > maxText {
			t.Errorf("%d keys, a token of %d bytes", len(p.members), len(p.token))
		}
		for _, m := range p.members {
			if len(m.key) > maxText || m.size < -1 {
				t.Errorf("%+v", m)
			}
		}
	})
}

func FuzzRefusal(f *testing.F) {
	f.Add(`<Error><Code>NoSuchKey</Code><Message>words</Message><Region>eu-west-1</Region></Error>`)
	f.Fuzz(func(t *testing.T, text string) {
		if e, ok := readRefusal(text); ok && (e.code == "" || len(e.code)+len(e.message)+len(e.region) > len(text)) {
			t.Errorf("%+v", e)
		}
	})
}
