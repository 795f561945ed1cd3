package queue

import "testing"

// When a job gets its lease, Next may have just found that all leases are reserved for scheduled
// jobs. It must then be woken to look again.
func TestRecordLeaseWakesNext(t *testing.T) {
	t.Parallel()
	r := &run{prefetch: newPrefetch()}
	r.prefetch.unleased["h"] = 1
	one := &task{run: r, host: "h", unleased: true}
	one.recordLease()
	select {
	case <-r.prefetch.wake:
	default:
		t.Error("Next was not woken")
	}
	if one.recordLease(); len(r.prefetch.wake) > 0 || len(r.prefetch.unleased) > 0 {
		t.Errorf("%d wakes, unleased %v: the lease was recorded twice", len(r.prefetch.wake), r.prefetch.unleased)
	}
}
