package servers_test

import (
	"fmt"
	"log"
	"net"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

// nfsSize stands for the client under test. It requests the size of a file below the public directory.
func nfsSize(addr, name string) (uint64, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.Write(nfs3.AppendCall(nil, 1, nfs3.Lookup, nfs3.Cred{}, nfs3.LookupArgs("", name)))
	record, err := xdr.ReadRecord(c, nil, 1<<10)
	if err != nil {
		return 0, err
	}
	_, results, err := nfs3.ParseReply(record)
	if err != nil {
		return 0, err
	}
	if status := nfs3.Status(results.Uint32()); status != nfs3.OK {
		return 0, fmt.Errorf("%v", status)
	}
	return nfs3.ParseLookup(results).Attr.Size, results.Err()
}

// A test calls Start(t, options) instead of New and Close.
func Example_nfsd() {
	s, err := nfsd.New(nfsd.Options{Public: "pub", Tree: fstest.MapFS{"pub/hello.txt": {Data: []byte("hello")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println(nfsSize(s.Addr, "hello.txt"))
	fmt.Println(nfsSize(s.Addr, "none"))
	s.Arm(servers.Failure{Fault: servers.Cut, On: "LOOKUP"})
	fmt.Println(nfsSize(s.Addr, "hello.txt"))
	// Output:
	// 5 <nil>
	// 0 NFS3ERR_NOENT
	// 0 EOF
}
