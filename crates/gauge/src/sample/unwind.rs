//! The stack of a thread that was interrupted anywhere, by the tables for unwinding that every program has.
//!
//! What is dear (finding the loaded files and their tables, the memory for unwinding) is done by [`prepare`], outside of signal
//! handlers. [`walk`] then allocates nothing, locks nothing and cannot fault: it reads the stack only where the system says that
//! it is readable.
#![allow(unsafe_code)]

use super::{Loaded, Stack};
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder,
    UnwinderNative,
};
use std::borrow::Cow;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// How many threads can unwind at the same moment; of one more the sample is lost. 38 KiB each.
const WALKS_MAX: usize = 32;
/// How far from where it is a stack is read.
const STACK_BYTES_MAX: u64 = 64 << 20;
/// No machine has smaller pages.
const PAGE_BYTES: u64 = 4096;

type Cache = CacheNative<MustNotAllocateDuringUnwind>;
type Section = Cow<'static, [u8]>;

/// What is loaded into the process, as it was when it was last looked at. Replaced as a whole and never freed, so that a handler
/// may use it at any time; it is replaced only after libraries were loaded or unloaded.
struct Machine {
    unwinder: UnwinderNative<Section, MustNotAllocateDuringUnwind>,
    loaded: Vec<Loaded>,
    /// How often the process has loaded and unloaded.
    changes: (u64, u64),
}

static MACHINE: AtomicPtr<Machine> = AtomicPtr::new(ptr::null_mut());
static CACHES: OnceLock<Box<[Slot]>> = OnceLock::new();

struct Slot {
    is_taken: AtomicBool,
    cache: UnsafeCell<Cache>,
}

// SAFETY: the cache is reached through a `Claim` only, of which there is one at a time for a slot: it exists from the exchange
// of `is_taken` from false to true (acquire) until it is set back (release). A cache holds plain memory, which any thread may use.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

/// The memory for one walk, for as long as it is kept.
struct Claim<'a>(&'a Slot);

impl Claim<'_> {
    fn new() -> Option<Self> {
        let free = |slot: &&Slot| !slot.is_taken.swap(true, Ordering::Acquire);
        CACHES.get()?.iter().find(free).map(Self)
    }

    fn cache(&mut self) -> &mut Cache {
        // SAFETY: this claim is the only one of its slot, see `Slot`, and is borrowed mutably as long as the cache is.
        unsafe { &mut *self.0.cache.get() }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// The registers from which unwinding begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registers {
    pc: u64,
    sp: u64,
    fp: u64,
    #[cfg(target_arch = "aarch64")]
    lr: u64,
}

impl Registers {
    /// Those of the code that a signal interrupted.
    ///
    /// # Safety
    /// The context is the third argument of a signal handler that has not returned yet.
    pub(super) unsafe fn interrupted(context: *const c_void) -> Self {
        // SAFETY: the kernel has put a context of this type there, which lives on the stack until the handler returns.
        let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        #[cfg(target_arch = "x86_64")]
        {
            let register = |index: c_int| machine.gregs[index as usize] as u64;
            Self { pc: register(libc::REG_RIP), sp: register(libc::REG_RSP), fp: register(libc::REG_RBP) }
        }
        #[cfg(target_arch = "aarch64")]
        Self { pc: machine.pc, sp: machine.sp, fp: machine.regs[29], lr: machine.regs[30] }
    }

    /// Those at this place of the function that this is inlined into.
    #[inline(always)]
    fn here() -> Self {
        let (pc, sp, fp): (u64, u64, u64);
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: registers are read, and nothing is written but the three outputs.
            unsafe {
                std::arch::asm!("lea {pc}, [rip]", "mov {sp}, rsp", "mov {fp}, rbp",
                    pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp, options(nomem, nostack, preserves_flags));
            }
            Self { pc, sp, fp }
        }
        #[cfg(target_arch = "aarch64")]
        {
            let lr: u64;
            // SAFETY: as above.
            unsafe {
                std::arch::asm!("adr {pc}, .", "mov {sp}, sp", "mov {fp}, x29", "mov {lr}, x30",
                    pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp, lr = out(reg) lr,
                    options(nomem, nostack, preserves_flags));
            }
            Self { pc, sp, fp, lr }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn of_framehop(self, _: &Machine) -> UnwindRegsNative {
        UnwindRegsNative::new(self.pc, self.sp, self.fp)
    }

    #[cfg(target_arch = "aarch64")]
    fn of_framehop(self, machine: &Machine) -> UnwindRegsNative {
        let mask = framehop::aarch64::PtrAuthMask::from_max_known_address(machine.unwinder.max_known_code_address());
        UnwindRegsNative::new_with_ptr_auth_mask(mask, self.lr, self.sp, self.fp)
    }
}

/// Makes ready what [`walk`] needs, and looks for libraries that were loaded since. Not for a signal handler.
pub(super) fn prepare() {
    CACHES.get_or_init(|| {
        let slot = |_| Slot { is_taken: AtomicBool::new(false), cache: UnsafeCell::new(Cache::default()) };
        (0..WALKS_MAX).map(slot).collect()
    });
    if machine().is_none_or(|machine| machine.changes != changes()) {
        // the one before may be in use by a handler, so it stays
        MACHINE.store(Box::into_raw(Box::new(Machine::now())), Ordering::Release);
        super::names::forget();
    }
}

/// What is in use by threads that a fork has not taken along is free in the child.
pub(super) fn forget_other_threads() {
    for slot in CACHES.get().into_iter().flatten() {
        slot.is_taken.store(false, Ordering::Release);
    }
}

/// The files whose code is loaded.
pub(super) fn loaded() -> &'static [Loaded] {
    machine().map_or(&[], |machine| &machine.loaded)
}

fn machine() -> Option<&'static Machine> {
    // SAFETY: the pointer is null or came from a box that is never freed and never changed.
    unsafe { MACHINE.load(Ordering::Acquire).as_ref() }
}

/// Writes the addresses of a stack, innermost first, each within the instruction that is being done or has called. Returns how
/// many there are and whether there were more; none if nothing is prepared or too many threads are unwinding. For signal handlers.
pub(super) fn walk(registers: Registers, frames: &mut [u64]) -> Option<(usize, bool)> {
    // where the stack is switched its pointer may stand at the end of what is mapped, so that nothing is known to be readable
    walk_from(registers, Reader { low: registers.sp, page: None }, frames)
}

fn walk_from(registers: Registers, mut reader: Reader, frames: &mut [u64]) -> Option<(usize, bool)> {
    let machine = machine()?;
    let mut claim = Claim::new()?;
    let mut read = |address| reader.word(address);
    let registers_of_framehop = registers.of_framehop(machine);
    let mut walk = machine.unwinder.iter_frames(registers.pc, registers_of_framehop, claim.cache(), &mut read);
    let mut count = 0;
    while let Ok(Some(frame)) = walk.next() {
        let Some(free) = frames.get_mut(count) else { return Some((count, true)) };
        *free = match frame {
            FrameAddress::InstructionPointer(address) => address,
            FrameAddress::ReturnAddress(address) => address.get() - 1,
        };
        count += 1;
    }
    Some((count, false))
}

/// The stack of the caller. It allocates nothing and takes no lock, so that an allocator may call it; without
/// [`prepare`](super::prepare) it is empty, and so it is if more than 32 threads unwind at the moment.
#[inline(never)]
pub fn stack_here() -> Stack {
    let mut stack = Stack::EMPTY;
    let registers = Registers::here();
    // this function's own frame begins where the stack pointer is
    let reader = Reader { low: registers.sp, page: Some(registers.sp / PAGE_BYTES) };
    if let Some((count, is_cut)) = walk_from(registers, reader, &mut stack.frames) {
        // the first frame is this function
        stack.frames.copy_within(1..count.max(1), 0);
        stack.length = count.saturating_sub(1) as u16;
        stack.is_cut = is_cut;
    }
    stack
}

/// Reads a stack from its low end on.
struct Reader {
    low: u64,
    /// The last page that was found to be readable.
    page: Option<u64>,
}

impl Reader {
    fn word(&mut self, address: u64) -> Result<u64, ()> {
        let distance = address.checked_sub(self.low).ok_or(())?;
        if distance > STACK_BYTES_MAX || !address.is_multiple_of(8) {
            return Err(());
        }
        let page = address / PAGE_BYTES;
        if self.page != Some(page) {
            if !is_readable(page * PAGE_BYTES) {
                return Err(());
            }
            self.page = Some(page);
        }
        // SAFETY: the word is aligned and lies within a page that was readable a moment ago. That page is above the stack pointer
        // of this thread and near to it, so it is of its stack, which stays while the thread runs; only where tables for
        // unwinding are wrong can it be of a mapping behind the stack. The value may be of any kind, and others may write
        // it meanwhile: it is read as one volatile word, and taken for an address that is looked up and not followed
        // except by this function.
        Ok(unsafe { ptr::read_volatile(address as *const u64) })
    }
}

/// Whether the system can read eight bytes there. `rt_sigprocmask` copies the set before it looks at what is to be done with it,
/// and refuses a `how` that does not exist: so it changes nothing, and says `EFAULT` only where there is nothing to read.
fn is_readable(address: u64) -> bool {
    const NO_SUCH_HOW: c_int = -1;
    const SET_BYTES: usize = 8;
    // SAFETY: `errno` is this thread's.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    // SAFETY: the kernel itself checks the address, and the old set is not asked for.
    let done =
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NO_SUCH_HOW, address, ptr::null_mut::<c_void>(), SET_BYTES) };
    // SAFETY: as above.
    let is_readable = done == 0 || unsafe { *errno } != libc::EFAULT;
    // an allocator's caller may be about to look at it
    // SAFETY: as above.
    unsafe { *errno = before };
    is_readable
}

impl Machine {
    fn now() -> Self {
        let mut found = Found::default();
        // SAFETY: the callback has the type that is asked for, and gets the pointer to what it is cast to, which lives until
        // this returns.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
        let mut unwinder = UnwinderNative::new();
        let mut loaded = Vec::new();
        for file in found.files {
            if let Some(tables) = file.tables {
                let name = file.loaded.path.to_string_lossy().into_owned();
                unwinder.add_module(framehop::Module::new(name, file.loaded.range.clone(), file.loaded.bias, tables));
            }
            loaded.push(file.loaded);
        }
        Self { unwinder, loaded, changes: found.changes }
    }
}

#[derive(Default)]
struct Found {
    files: Vec<File>,
    changes: (u64, u64),
}

struct File {
    loaded: Loaded,
    tables: Option<ExplicitModuleSectionInfo<Section>>,
}

fn changes() -> (u64, u64) {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> c_int {
        // SAFETY: the loader gives a valid `info`, and `to` is the pair below.
        unsafe { *to.cast::<(u64, u64)>() = ((*info).dlpi_adds, (*info).dlpi_subs) };
        1
    }
    let mut changes = (0_u64, 0_u64);
    // SAFETY: as in `Machine::now`.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut changes).cast()) };
    changes
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader gives an `info` that is valid during this call; `found` is the one of `Machine::now`, which nobody else
    // uses meanwhile.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Found>()) };
    found.changes = (info.dlpi_adds, info.dlpi_subs);
    let is_program = found.files.is_empty();
    // SAFETY: the loader gives a list of that length, or none.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let bias = info.dlpi_addr;
    let segment = |header: &libc::Elf64_Phdr| bias + header.p_vaddr..bias + header.p_vaddr + header.p_memsz;
    let segments = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(segment);
    let start = segments().map(|range| range.start).min();
    let (Some(start), Some(end)) = (start, segments().map(|range| range.end).max()) else { return 0 };
    let path = if is_program || info.dlpi_name.is_null() {
        PathBuf::from("/proc/self/exe")
    } else {
        // SAFETY: the loader gives a text that ends with NUL.
        PathBuf::from(unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned())
    };
    let header = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map(segment);
    let tables = header.and_then(|header| {
        let holder = segments().find(|range| range.contains(&header.start))?;
        // SAFETY: the header names this range of a loaded segment, which is readable, and stays as long as its file is loaded:
        // until this callback returns, as the loader is locked meanwhile, and for ever if it is the program itself.
        unsafe { tables(header.start, holder, bias, is_program) }
    });
    found.files.push(File { loaded: Loaded { path, range: start..end, bias }, tables });
    0
}

/// The tables of a file by the address of their index. Those of a library are copied, for it may be unloaded.
///
/// # Safety
/// The range is a loaded, readable segment that holds the index, and stays: for ever if `is_program`, or else until this returns.
unsafe fn tables(
    index: u64,
    segment: std::ops::Range<u64>,
    bias: u64,
    is_program: bool,
) -> Option<ExplicitModuleSectionInfo<Section>> {
    /// Signed 32 bits from where it stands: the one form that linkers write (LSB, "DWARF Extensions").
    const RELATIVE: u8 = 0x1b;
    // SAFETY: the caller says that the segment is readable and holds the index.
    let bytes_from = |from: u64| unsafe {
        std::slice::from_raw_parts::<'static, u8>(from as *const u8, (segment.end - from) as usize)
    };
    let [1, RELATIVE, _, _, a, b, c, d, ..] = *bytes_from(index) else { return None };
    let frames = (index + 4).checked_add_signed(i32::from_le_bytes([a, b, c, d]).into())?;
    if !segment.contains(&frames) {
        return None;
    }
    let keep = |bytes: &'static [u8]| match is_program {
        true => Cow::Borrowed(bytes),
        false => Cow::Owned(bytes.to_vec()),
    };
    Some(ExplicitModuleSectionInfo {
        base_svma: 0,
        eh_frame_svma: Some(frames - bias..segment.end - bias),
        eh_frame: Some(keep(bytes_from(frames))),
        eh_frame_hdr_svma: Some(index - bias..segment.end - bias),
        eh_frame_hdr: Some(keep(bytes_from(index))),
        ..ExplicitModuleSectionInfo::default()
    })
}
